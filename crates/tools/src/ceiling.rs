//! Requested values lowered to a limit, which the result reports.

use std::time::Duration;

use manyhands_core::ToolError;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Number;

/// A requested value that was lowered to a limit.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Lowered {
    /// The parameter.
    parameter: &'static str,
    /// The value that was requested.
    requested: Number,
    /// The value that was used.
    used: Number,
    /// The limit: a settings key, or a description.
    limit: &'static str,
}

/// The values of one call, each at most its limit.
#[derive(Default)]
pub struct Ceilings(Vec<Lowered>);

impl Ceilings {
    /// Limits a count or a size.
    pub fn at_most(
        &mut self,
        parameter: &'static str,
        requested: Option<u64>,
        ceiling: u64,
        limit: &'static str,
    ) -> u64 {
        let Some(requested) = requested else {
            return ceiling;
        };
        if requested > ceiling {
            self.lowered(parameter, requested.into(), ceiling, limit);
        }
        requested.min(ceiling)
    }

    /// Limits a time in seconds.
    pub fn seconds(
        &mut self,
        parameter: &'static str,
        requested: Option<f64>,
        ceiling: u64,
        limit: &'static str,
    ) -> Result<Duration, ToolError> {
        let most = Duration::from_secs(ceiling);
        let Some(requested) = requested else {
            return Ok(most);
        };
        if !requested.is_finite() || requested <= 0.0 {
            return Err(ToolError::parameter(parameter, "must be more than 0"));
        }
        // More than a duration can hold is lowered like any other value that is too large.
        let wanted = Duration::try_from_secs_f64(requested).unwrap_or(Duration::MAX);
        if wanted > most {
            // A whole number is reported as the caller wrote it: 90, not 90.0. Doubles represent
            // every whole number below this limit.
            let shown = match requested.fract() == 0.0 && requested < 1e15 {
                true => Number::from(wanted.as_secs()),
                false => Number::from_f64(requested).unwrap_or_else(|| 0.into()),
            };
            self.lowered(parameter, shown, ceiling, limit);
        }
        Ok(wanted.min(most))
    }

    /// The lowered values, for the result.
    pub fn into_lowered(self) -> Vec<Lowered> {
        self.0
    }

    fn lowered(
        &mut self,
        parameter: &'static str,
        requested: Number,
        used: u64,
        limit: &'static str,
    ) {
        self.0.push(Lowered {
            parameter,
            requested,
            used: used.into(),
            limit,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_lowered_is_reported() {
        let mut ceilings = Ceilings::default();
        assert_eq!(ceilings.at_most("a", None, 10, "x"), 10);
        assert_eq!(ceilings.at_most("a", Some(10), 10, "x"), 10);
        assert_eq!(ceilings.at_most("b", Some(11), 10, "x"), 10);
        let second = Duration::from_secs(1);
        assert_eq!(ceilings.seconds("c", Some(1.0), 1, "y").unwrap(), second);
        assert_eq!(ceilings.seconds("d", Some(1e300), 1, "y").unwrap(), second);
        assert!(ceilings.seconds("e", Some(0.0), 1, "y").is_err());
        let lowered: Vec<&str> = ceilings.0.iter().map(|one| one.parameter).collect();
        assert_eq!(lowered, ["b", "d"]);
    }
}
