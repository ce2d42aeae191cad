//! Lower-case hex, the form in which hashes are stored. Thirty lines do not justify a dependency, and decoding must refuse
//! upper case: one hash has one spelling.

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Writes `bytes` as hex.
pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

/// Reads exactly `N` bytes of lower-case hex.
pub(crate) fn decode<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.as_bytes();
    if digits.len() != N * 2 {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

fn digit(c: u8) -> Option<u8> {
    match c {
        b'0'..=b'9' => Some(c - b'0'),
        b'a'..=b'f' => Some(c - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_and_other_spellings_do_not() {
        assert_eq!(encode(&[0, 0xff, 0x1a]), "00ff1a");
        assert_eq!(decode::<3>("00ff1a"), Some([0, 0xff, 0x1a]));
        for bad in ["00FF1A", "00ff1", "00ff1a00", "zzff1a", ""] {
            assert_eq!(decode::<3>(bad), None, "{bad}");
        }
    }
}
