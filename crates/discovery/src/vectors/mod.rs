//! Static word vectors from a folder with `model.safetensors` and `tokenizer.json`.
//!
//! The rows stay on disk; only those of words that occur are read, so memory holds the vocabulary and a few rows.

mod bpe;
mod quantised;

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;

use serde::Deserialize;

use bpe::Tokenizer;
pub use quantised::{QuantisedVector, dot_row};

/// Dimensions of a vector.
pub const WIDTH: usize = 256;

/// Maximum size of the header and of the vocabulary file.
const LARGEST_HEADER: u64 = 1 << 20;
const LARGEST_VOCABULARY: u64 = 32 << 20;

/// Why vectors cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum VectorsError {
    /// A file is missing or cannot be read.
    #[error("cannot read {file}: {error}")]
    Read {
        /// The file.
        file: &'static str,
        /// The system's error.
        error: std::io::Error,
    },
    /// A file has an unsupported format.
    #[error("{file} is not usable: {reason}")]
    Unusable {
        /// The file.
        file: &'static str,
        /// The reason.
        reason: String,
    },
}

#[derive(Deserialize)]
struct Tensor {
    dtype: String,
    shape: Vec<u64>,
    data_offsets: [u64; 2],
}

/// Word vectors of a folder.
pub struct WordVectors {
    pieces: Tokenizer,
    file: File,
    start: u64,
    rows: u64,
    half: bool,
}

impl WordVectors {
    /// The file with the vectors.
    pub const MODEL: &'static str = "model.safetensors";
    /// The file with the vocabulary.
    pub const VOCABULARY: &'static str = "tokenizer.json";

    /// Opens a folder.
    pub fn open(folder: &Path) -> Result<Self, VectorsError> {
        let vocabulary = open(folder, Self::VOCABULARY)?;
        let mut json = Vec::new();
        vocabulary
            .take(LARGEST_VOCABULARY)
            .read_to_end(&mut json)
            .map_err(reading(Self::VOCABULARY))?;
        let pieces = Tokenizer::parse(&json)
            .map_err(|error| unusable(Self::VOCABULARY, error.to_string()))?;
        drop(json);

        let file = open(folder, Self::MODEL)?;
        let length = file.metadata().map_err(reading(Self::MODEL))?.len();
        let mut size = [0; 8];
        file.read_exact_at(&mut size, 0)
            .map_err(reading(Self::MODEL))?;
        let header_size = u64::from_le_bytes(size);
        // The size comes from the file: without a limit it could allocate anything.
        if header_size > LARGEST_HEADER {
            return Err(unusable(Self::MODEL, "its header is too large".into()));
        }
        let mut header = vec![0; header_size as usize];
        file.read_exact_at(&mut header, 8)
            .map_err(reading(Self::MODEL))?;
        let tensor = tensor(&header)?;
        let half = match tensor.dtype.as_str() {
            "F16" => true,
            "F32" => false,
            other => {
                return Err(unusable(
                    Self::MODEL,
                    format!("unsupported number type {other}"),
                ));
            }
        };
        let row = WIDTH as u64 * if half { 2 } else { 4 };
        let rows = tensor.shape[0];
        let start = 8 + header_size + tensor.data_offsets[0];
        // Checked once here, so that lookups cannot read past the end.
        let fits = rows
            .checked_mul(row)
            .and_then(|bytes| bytes.checked_add(start))
            .is_some_and(|end| end <= length);
        if !fits {
            return Err(unusable(Self::MODEL, "the file is truncated".into()));
        }
        Ok(Self {
            pieces,
            file,
            start,
            rows,
            half,
        })
    }

    /// The vector of a word: the sum of its tokens' vectors, so that long and rare words weigh more. Zero if unknown.
    pub fn word(&self, word: &str) -> [f32; WIDTH] {
        let mut sum = [0.0; WIDTH];
        let mut bytes = [0u8; WIDTH * 4];
        let size = if self.half { 2 } else { 4 };
        let row = &mut bytes[..WIDTH * size];
        for id in self.pieces.of(word) {
            let id = u64::from(id);
            // An unreadable row counts as an unknown token.
            if id >= self.rows
                || self
                    .file
                    .read_exact_at(row, self.start + id * row.len() as u64)
                    .is_err()
            {
                continue;
            }
            for (into, number) in sum.iter_mut().zip(row.chunks_exact(size)) {
                *into += match *number {
                    [a, b] => half_to_single(u16::from_le_bytes([a, b])),
                    [a, b, c, d] => f32::from_le_bytes([a, b, c, d]),
                    _ => 0.0,
                };
            }
        }
        // One NaN would make every similarity NaN and break the ranking.
        match sum.iter().all(|number| number.is_finite()) {
            true => sum,
            false => [0.0; WIDTH],
        }
    }
}

fn open(folder: &Path, file: &'static str) -> Result<File, VectorsError> {
    File::open(folder.join(file)).map_err(reading(file))
}

fn reading(file: &'static str) -> impl Fn(std::io::Error) -> VectorsError {
    move |error| VectorsError::Read { file, error }
}

fn unusable(file: &'static str, reason: String) -> VectorsError {
    VectorsError::Unusable { file, reason }
}

fn tensor(header: &[u8]) -> Result<Tensor, VectorsError> {
    let file = WordVectors::MODEL;
    let all: serde_json::Map<String, serde_json::Value> =
        serde_json::from_slice(header).map_err(|error| unusable(file, error.to_string()))?;
    all.into_iter()
        .filter(|(name, _)| name != "__metadata__")
        .filter_map(|(_, value)| serde_json::from_value::<Tensor>(value).ok())
        .find(|tensor| tensor.shape.len() == 2 && tensor.shape[1] == WIDTH as u64)
        .ok_or_else(|| unusable(file, format!("it has no tensor with {WIDTH} columns")))
}

fn half_to_single(half: u16) -> f32 {
    let sign = if half & 0x8000 == 0 { 1.0 } else { -1.0 };
    let exponent = i32::from((half >> 10) & 0x1f);
    let fraction = f32::from(half & 0x3ff);
    sign * match exponent {
        0 => fraction * 2f32.powi(-24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1.0 + fraction / 1024.0) * 2f32.powi(exponent - 15),
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use std::path::PathBuf;

    /// A folder with a vocabulary of single letters and the given rows, for tests.
    pub fn folder(rows: &[(char, [f32; 2])]) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().expect("a folder");
        let vocab: serde_json::Map<String, serde_json::Value> = rows
            .iter()
            .enumerate()
            .map(|(id, (c, _))| (c.to_string(), id.into()))
            .collect();
        let json = serde_json::json!({"model": {"vocab": vocab, "merges": []}});
        std::fs::write(dir.path().join(WordVectors::VOCABULARY), json.to_string())
            .expect("written");
        let mut data = Vec::new();
        for (_, ends) in rows {
            let mut row = [0f32; WIDTH];
            row[0] = ends[0];
            row[WIDTH - 1] = ends[1];
            data.extend(row.iter().flat_map(|number| number.to_le_bytes()));
        }
        let header = serde_json::json!({"embedding.weight": {"dtype": "F32", "shape": [rows.len(), WIDTH], "data_offsets": [0, data.len()]}}).to_string();
        let mut file = (header.len() as u64).to_le_bytes().to_vec();
        file.extend(header.as_bytes());
        file.extend(data);
        std::fs::write(dir.path().join(WordVectors::MODEL), file).expect("written");
        let path = dir.path().to_owned();
        (dir, path)
    }

    #[test]
    fn a_word_is_the_sum_of_its_pieces() {
        let (_dir, path) = folder(&[('a', [1.0, 0.5]), ('b', [2.0, -1.0])]);
        let vectors = WordVectors::open(&path).expect("opened");
        let word = vectors.word("ab");
        assert_eq!((word[0], word[WIDTH - 1]), (3.0, -0.5));
        assert_eq!(vectors.word("zz"), [0.0; WIDTH]);
    }

    #[test]
    fn a_file_cut_short_or_of_another_shape_is_refused() {
        let (_dir, path) = folder(&[('a', [1.0, 0.5])]);
        let model = path.join(WordVectors::MODEL);
        let whole = std::fs::read(&model).expect("read");
        std::fs::write(&model, &whole[..whole.len() - 1]).expect("written");
        assert!(matches!(
            WordVectors::open(&path),
            Err(VectorsError::Unusable { .. })
        ));
        std::fs::write(&model, [0xff; 64]).expect("written");
        assert!(WordVectors::open(&path).is_err());
        std::fs::write(&model, &whole).expect("written");
        assert!(WordVectors::open(&path).is_ok());
        assert!(WordVectors::open(&path.join("nowhere")).is_err());
    }

    #[test]
    fn half_numbers_are_read_right() {
        for (half, expected) in [
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x3555, 0.333_251_95),
            (0x0001, 5.960_464_5e-8),
            (0, 0.0),
        ] {
            assert_eq!(half_to_single(half), expected);
        }
        assert!(half_to_single(0x7e00).is_nan());
    }
}
