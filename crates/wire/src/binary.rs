//! Binary frames: a transfer id followed by bytes.

/// Length of the header in bytes.
pub const HEADER: usize = 4;

/// Maximum number of bytes per frame.
// Small enough that a call does not wait long behind one frame, large enough for full throughput.
pub const CHUNK: usize = 256 * 1024;

/// A binary frame, borrowed from its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BinaryFrame<'a> {
    /// The transfer it belongs to.
    pub transfer: u32,
    /// Its next bytes.
    pub bytes: &'a [u8],
}

/// A binary message too short for the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a binary frame of {0} bytes is too short: it starts with a transfer id of 4 bytes")]
pub struct TooShort(pub usize);

impl<'a> BinaryFrame<'a> {
    /// Decodes a message: the id as little-endian u32, then the bytes.
    pub fn decode(message: &'a [u8]) -> Result<Self, TooShort> {
        let (id, bytes) = message
            .split_first_chunk::<HEADER>()
            .ok_or(TooShort(message.len()))?;
        Ok(Self {
            transfer: u32::from_le_bytes(*id),
            bytes,
        })
    }

    /// Encodes the message.
    pub fn encode(self) -> Vec<u8> {
        let mut message = Vec::with_capacity(HEADER + self.bytes.len());
        message.extend_from_slice(&self.transfer.to_le_bytes());
        message.extend_from_slice(self.bytes);
        message
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(transfer: u32, bytes: &[u8], message: &[u8]) {
        let frame = BinaryFrame { transfer, bytes };
        assert_eq!(frame.encode(), message);
        assert_eq!(BinaryFrame::decode(message), Ok(frame));
    }

    #[test]
    fn the_id_comes_first_and_little_endian() {
        check(1, b"", &[1, 0, 0, 0]);
        check(0x0403_0201, b"ab", &[1, 2, 3, 4, b'a', b'b']);
        check(u32::MAX, &[0], &[255, 255, 255, 255, 0]);
    }

    #[test]
    fn a_message_without_room_for_the_id_is_refused() {
        for length in 0..HEADER {
            let message = [7; HEADER];
            assert_eq!(
                BinaryFrame::decode(&message[..length]),
                Err(TooShort(length))
            );
        }
    }
}
