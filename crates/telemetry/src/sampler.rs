//! Which traces are recorded.

/// Decides whether a span is recorded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sampler {
    /// Whether a span with a parent follows the parent's decision.
    pub(crate) parent_based: bool,
    /// The share of traces to record, from 0 to 1.
    pub(crate) ratio: f64,
}

impl Default for Sampler {
    fn default() -> Self {
        Self {
            parent_based: true,
            ratio: 1.0,
        }
    }
}

impl Sampler {
    /// The sampler that `OTEL_TRACES_SAMPLER` and `OTEL_TRACES_SAMPLER_ARG` name.
    pub(crate) fn named(name: &str, argument: Option<&str>) -> Result<Self, String> {
        let given = || match argument.map(str::trim).filter(|text| !text.is_empty()) {
            None => Ok(1.0),
            Some(text) => match text.parse::<f64>() {
                Ok(ratio) if (0.0..=1.0).contains(&ratio) => Ok(ratio),
                _ => Err(format!(
                    "OTEL_TRACES_SAMPLER_ARG {text:?} is not a number from 0 to 1"
                )),
            },
        };
        let (parent_based, root) = match name.strip_prefix("parentbased_") {
            Some(root) => (true, root),
            None => (false, name),
        };
        let ratio = match root {
            "always_on" => 1.0,
            "always_off" => 0.0,
            "traceidratio" => given()?,
            _ => {
                return Err(format!(
                    "OTEL_TRACES_SAMPLER {name:?} is unknown; use parentbased_traceidratio with OTEL_TRACES_SAMPLER_ARG"
                ));
            }
        };
        Ok(Self {
            parent_based,
            ratio,
        })
    }

    /// Whether a span of `trace` is recorded; `parent` is whether its parent is.
    pub(crate) fn samples(&self, parent: Option<bool>, trace: &[u8; 16]) -> bool {
        match parent {
            Some(sampled) if self.parent_based => sampled,
            _ => self.takes(trace),
        }
    }

    /// The rule of all OpenTelemetry SDKs, so that every process decides alike about one trace.
    fn takes(&self, trace: &[u8; 16]) -> bool {
        let mut low = [0; 8];
        low.copy_from_slice(&trace[8..]);
        let place = u64::from_be_bytes(low) >> 1;
        #[allow(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the ratio is from 0 to 1, and the bound saturates"
        )]
        let bound = (self.ratio * (1_u64 << 63) as f64) as u64;
        place < bound
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(low: u64) -> [u8; 16] {
        let mut id = [7; 16];
        id[8..].copy_from_slice(&low.to_be_bytes());
        id
    }

    #[test]
    fn a_ratio_takes_the_same_traces_as_other_sdks() {
        let half = Sampler::named("traceidratio", Some("0.5")).unwrap();
        assert!(half.samples(None, &trace(0x7fff_ffff_ffff_ffff)));
        assert!(!half.samples(None, &trace(0x8000_0000_0000_0000)));
        let all = Sampler::named("always_on", None).unwrap();
        let none = Sampler::named("always_off", None).unwrap();
        for low in [0, 1, u64::MAX / 2, u64::MAX] {
            assert!(all.samples(None, &trace(low)));
            assert!(!none.samples(None, &trace(low)));
        }
    }

    #[test]
    fn a_parent_decides_if_the_sampler_is_parent_based() {
        let based = Sampler::named("parentbased_traceidratio", Some("0")).unwrap();
        assert!(based.samples(Some(true), &trace(0)));
        assert!(!based.samples(None, &trace(0)));
        let plain = Sampler::named("always_on", None).unwrap();
        assert!(plain.samples(Some(false), &trace(0)));
        assert!(!Sampler::default().samples(Some(false), &trace(0)));
    }

    #[test]
    fn an_unknown_sampler_or_ratio_is_refused() {
        assert!(Sampler::named("jaeger_remote", None).is_err());
        for ratio in ["2", "-1", "half", "NaN"] {
            assert!(
                Sampler::named("traceidratio", Some(ratio)).is_err(),
                "{ratio}"
            );
        }
    }
}
