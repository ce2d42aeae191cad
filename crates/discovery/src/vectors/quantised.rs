//! Unit vectors quantised to one byte per dimension.

use super::WIDTH;

/// A quantised unit vector with its scale.
#[derive(Clone)]
pub struct QuantisedVector {
    /// The values, each of which fits into a byte; stored wider because that multiplies faster.
    pub bytes: [i16; WIDTH],
    /// The value of one unit.
    pub scale: f32,
    /// The length of the original vector.
    pub length: f32,
}

impl QuantisedVector {
    /// Quantises a vector; a zero vector stays zero.
    pub fn of(vector: &[f32; WIDTH]) -> Self {
        let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
        let largest = vector.iter().fold(0f32, |most, x| most.max(x.abs()));
        let mut bytes = [0; WIDTH];
        // Avoids a division by zero.
        if length <= f32::EPSILON {
            return Self {
                bytes,
                scale: 0.0,
                length: 0.0,
            };
        }
        for (into, x) in bytes.iter_mut().zip(vector) {
            *into = (x / largest * 127.0).round() as i16;
        }
        Self {
            bytes,
            scale: largest / 127.0 / length,
            length,
        }
    }

    /// The cosine similarity of two vectors.
    pub fn similarity(&self, other: &Self) -> f32 {
        dot(&self.bytes, &other.bytes) as f32 * self.scale * other.scale
    }
}

/// The dot product; the compiler vectorises it.
#[inline]
fn dot(a: &[i16], b: &[i16]) -> i32 {
    a.iter()
        .zip(b)
        .map(|(x, y)| i32::from(*x) * i32::from(*y))
        .sum()
}

/// The dot product with a row of bytes.
#[inline]
pub fn dot_row(row: &[i8], b: &[i16]) -> i32 {
    row.iter()
        .zip(b)
        .map(|(x, y)| i32::from(i16::from(*x)) * i32::from(*y))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_cosine_survives_being_made_small(a in proptest::collection::vec(-3f32..3.0, WIDTH), b in proptest::collection::vec(-3f32..3.0, WIDTH)) {
            let (a, b): ([f32; WIDTH], [f32; WIDTH]) = (a.try_into().unwrap(), b.try_into().unwrap());
            let exact = a.iter().zip(&b).map(|(x, y)| x * y).sum::<f32>()
                / (a.iter().map(|x| x * x).sum::<f32>().sqrt() * b.iter().map(|x| x * x).sum::<f32>().sqrt());
            prop_assert!((QuantisedVector::of(&a).similarity(&QuantisedVector::of(&b)) - exact).abs() < 0.01);
            prop_assert!((QuantisedVector::of(&a).similarity(&QuantisedVector::of(&a)) - 1.0).abs() < 0.01);
        }
    }

    #[test]
    fn nothing_is_similar_to_the_zero_vector() {
        let zero = QuantisedVector::of(&[0.0; WIDTH]);
        assert_eq!(zero.similarity(&zero), 0.0);
    }
}
