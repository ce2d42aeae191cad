//! PDF stream filters.

use std::io::Read as _;

use flate2::read::ZlibDecoder;

/// Decodes `bytes` with the named filter into at most `most` bytes. Damaged data yields what precedes
/// the damage; `None` for images and other data without text.
pub(super) fn unpack(filter: &str, bytes: &[u8], most: usize) -> Option<Vec<u8>> {
    Some(match filter {
        "FlateDecode" | "Fl" => {
            let mut unpacked = Vec::new();
            let _ = ZlibDecoder::new(bytes)
                .take(most as u64)
                .read_to_end(&mut unpacked);
            unpacked
        }
        "ASCIIHexDecode" | "AHx" => hex(bytes),
        "ASCII85Decode" | "A85" => ascii85(bytes),
        "LZWDecode" | "LZW" => lzw(bytes, most),
        "RunLengthDecode" | "RL" => run_length(bytes, most),
        _ => return None,
    })
}

fn hex(bytes: &[u8]) -> Vec<u8> {
    let until = bytes.iter().take_while(|byte| **byte != b'>');
    let digits = until.filter_map(|byte| char::from(*byte).to_digit(16));
    let digits: Vec<u8> = digits.map(|digit| digit as u8).collect();
    let pair = |two: &[u8]| two[0] << 4 | two.get(1).copied().unwrap_or(0);
    digits.chunks(2).map(pair).collect()
}

fn ascii85(bytes: &[u8]) -> Vec<u8> {
    let (mut unpacked, mut group) = (Vec::new(), Vec::with_capacity(5));
    let flush = |group: &mut Vec<u8>, unpacked: &mut Vec<u8>| {
        let count = group.len();
        if count < 2 {
            return group.clear();
        }
        group.resize(5, 84);
        let value = group.iter().fold(0_u32, |value, digit| {
            value.wrapping_mul(85).wrapping_add(u32::from(*digit))
        });
        unpacked.extend_from_slice(&value.to_be_bytes()[..count - 1]);
        group.clear();
    };
    let bytes = bytes.strip_prefix(b"<~").unwrap_or(bytes);
    for byte in bytes {
        match byte {
            b'~' => break,
            b'z' if group.is_empty() => unpacked.extend_from_slice(&[0; 4]),
            b'!'..=b'u' => group.push(byte - b'!'),
            _ => {}
        }
        if group.len() == 5 {
            flush(&mut group, &mut unpacked);
        }
    }
    flush(&mut group, &mut unpacked);
    unpacked
}

fn run_length(bytes: &[u8], most: usize) -> Vec<u8> {
    let (mut unpacked, mut at) = (Vec::new(), 0);
    while let Some(length) = bytes.get(at)
        && unpacked.len() < most
    {
        let length = usize::from(*length);
        at += 1;
        match length {
            128 => break,
            0..128 => {
                let end = (at + length + 1).min(bytes.len());
                unpacked.extend_from_slice(&bytes[at..end]);
                at = end;
            }
            _ => {
                let byte = bytes.get(at).copied().unwrap_or(0);
                unpacked.extend(std::iter::repeat_n(byte, 257 - length));
                at += 1;
            }
        }
    }
    unpacked
}

/// LZW as in TIFF and PDF: codes of 9 to 12 bits, most significant bit first, with early change.
fn lzw(bytes: &[u8], most: usize) -> Vec<u8> {
    const CLEAR: usize = 256;
    const END: usize = 257;
    // Each entry is a range of the output so far: start and length.
    let mut table: Vec<(usize, usize)> = Vec::new();
    let (mut unpacked, mut bits, mut pending_bits, mut width) = (Vec::new(), 0_u32, 0_u32, 9_u32);
    let mut last: Option<(usize, usize)> = None;
    for byte in bytes {
        bits = bits << 8 | u32::from(*byte);
        pending_bits += 8;
        if pending_bits < width {
            continue;
        }
        pending_bits -= width;
        let code = (bits >> pending_bits & ((1 << width) - 1)) as usize;
        match code {
            CLEAR => {
                table.clear();
                (width, last) = (9, None);
                continue;
            }
            END => break,
            _ => {}
        }
        let from = unpacked.len();
        match code.checked_sub(END + 1) {
            None => unpacked.push(code as u8),
            Some(entry) => {
                let piece = match (table.get(entry), last) {
                    (Some(piece), _) => *piece,
                    // The code that is being defined: the last range plus its first byte.
                    (None, Some((start, length))) if entry == table.len() => (start, length + 1),
                    _ => break,
                };
                for index in piece.0..piece.0 + piece.1 {
                    let byte = unpacked[index];
                    unpacked.push(byte);
                }
            }
        }
        if let Some((start, length)) = last
            && table.len() < 4096
        {
            table.push((start, length + 1));
        }
        last = Some((from, unpacked.len() - from));
        width = match table.len() + END + 2 {
            0..511 => 9,
            511..1023 => 10,
            1023..2047 => 11,
            _ => 12,
        };
        if unpacked.len() >= most {
            break;
        }
    }
    unpacked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_filter_gives_what_was_packed() {
        assert_eq!(hex(b"48 65 6C6c 6f>zz"), b"Hello");
        assert_eq!(ascii85(b"<~87cURD]j7BEbo80~>"), b"Hello world!");
        assert_eq!(
            run_length(&[2, b'a', b'b', b'c', 254, b'x', 128, 9], 100),
            b"abcxxx"
        );
        // The example of the PDF reference.
        let packed = [0x80, 0x0b, 0x60, 0x50, 0x22, 0x0c, 0x0c, 0x85, 0x01];
        assert_eq!(lzw(&packed, 100), [45, 45, 45, 45, 45, 65, 45, 45, 45, 66]);
        assert_eq!(unpack("DCTDecode", b"x", 10), None);
    }

    #[test]
    fn nothing_grows_beyond_what_it_may() {
        use std::io::Write as _;
        let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(&vec![0; 1 << 20]).unwrap();
        let packed = packed.finish().unwrap();
        assert_eq!(unpack("FlateDecode", &packed, 1000).unwrap().len(), 1000);
        assert!(run_length(&[129; 1000], 500).len() < 1000);
    }
}
