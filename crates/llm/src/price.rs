//! Model prices.

use std::collections::BTreeMap;

use crate::list_prices::LIST;
use crate::model::ModelId;
use crate::settings::Price;
use crate::usage::{Cost, Usage};

/// Dollars in millionths; never negative.
pub(crate) fn micros(dollars: f64) -> u64 {
    // The cast saturates, and NaN becomes 0.
    (dollars * 1e6).round() as u64
}

/// Model prices: the owner's list, then the built-in one.
#[derive(Debug, Clone, Default)]
pub struct Prices {
    own: BTreeMap<String, Price>,
}

impl Prices {
    /// Creates a price list with `own` before the built-in prices. Invalid prices are dropped and named.
    pub fn new(own: &BTreeMap<String, Price>) -> (Self, Vec<String>) {
        let (valid, wrong): (BTreeMap<_, _>, BTreeMap<_, _>) = own
            .clone()
            .into_iter()
            .partition(|(_, price)| is_price(price));
        let wrong = wrong.into_keys();
        let wrong = wrong.map(|name| format!("models.prices.{name}: a price is 0 or more"));
        (Self { own: valid }, wrong.collect())
    }

    /// The price of `model`: by full name, by its own name, by the vendor's list.
    pub fn of(&self, model: &ModelId) -> Option<Price> {
        self.own(model).or_else(|| listed(&model.model))
    }

    /// The owner's price for it.
    pub(crate) fn own(&self, model: &ModelId) -> Option<Price> {
        let own = self.own.get(&model.to_string());
        own.or_else(|| self.own.get(&model.model)).copied()
    }
}

fn is_price(price: &Price) -> bool {
    let valid = |rate: f64| rate.is_finite() && rate >= 0.0;
    let cached = [price.cache_read, price.cache_write];
    valid(price.input) && valid(price.output) && cached.into_iter().flatten().all(valid)
}

/// The price of exactly this model, or of a dated version of it.
fn listed(model: &str) -> Option<Price> {
    let name = model.rsplit('/').next().unwrap_or(model);
    let name = name.to_ascii_lowercase();
    // Routers write `claude-opus-5.5` for `claude-opus-5-5`.
    let name = if name.starts_with("claude") {
        name.replace('.', "-")
    } else {
        name
    };
    let edition = |rest: &str| {
        let rest = rest.strip_prefix(['-', '@', ':']).unwrap_or("x");
        let date = rest.len() >= 4 && rest.chars().all(|c| c.is_ascii_digit() || c == '-');
        date || rest == "latest" || rest == "preview"
    };
    let fits = |listed: &str| {
        let rest = name.strip_prefix(listed);
        rest.is_some_and(|rest| rest.is_empty() || edition(rest))
    };
    let (_, [input, output, read, write]) = LIST.iter().find(|(listed, _)| fits(listed))?;
    Some(Price {
        input: *input,
        output: *output,
        cache_read: Some(*read),
        cache_write: Some(*write),
    })
}

/// The cost of `usage` at `price`, rounded up to a millionth of a dollar.
pub(crate) fn cost(price: Option<Price>, usage: &Usage) -> Cost {
    let Some(price) = price else {
        return Cost::Unknown;
    };
    let rate = |dollars: f64| u128::from(micros(dollars));
    let read = price.cache_read.unwrap_or(price.input);
    let write = price.cache_write.unwrap_or(price.input);
    let parts = [
        (usage.input, rate(price.input)),
        (usage.output, rate(price.output)),
        (usage.cache_read, rate(read)),
        (usage.cache_write, rate(write)),
    ];
    let total = parts.into_iter().fold(0_u128, |total, (tokens, rate)| {
        total.saturating_add(u128::from(tokens).saturating_mul(rate))
    });
    Cost::MicroDollars(u64::try_from(total.div_ceil(1_000_000)).unwrap_or(u64::MAX))
}

/// The maximum cost of these tokens: all input at the highest rate.
pub(crate) fn upper_bound(price: Option<Price>, input: u64, output: u64) -> Cost {
    let dearest = price.map(|price| Price {
        input: price.input.max(price.cache_write.unwrap_or(0.0)),
        ..price
    });
    let usage = Usage {
        input,
        output,
        ..Usage::default()
    };
    cost(dearest, &usage)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn price_of(model: &str) -> Option<f64> {
        let id = format!("any/{model}").parse().unwrap();
        Prices::default().of(&id).map(|price| price.input)
    }

    #[test]
    fn a_model_is_found_by_name_edition_and_router() {
        for (model, input) in [
            ("claude-opus-5-5", Some(4.0)),
            ("claude-opus-5", Some(5.0)),
            ("claude-opus-5-20260724", Some(5.0)),
            ("anthropic/claude-opus-5.5", Some(4.0)),
            ("claude-haiku-4-5-20251001", Some(1.0)),
            ("gpt-5", Some(1.25)),
            ("gpt-5-2025-08-07", Some(1.25)),
            ("gpt-5-mini", Some(0.25)),
            ("gemini-3.1-pro-preview", Some(2.0)),
            // A relative is not the model itself.
            ("gpt-5.9", None),
            ("gpt-5-turbo", None),
            ("claude-opus-6", None),
            ("smollm2", None),
        ] {
            assert_eq!(price_of(model), input, "{model}");
        }
    }

    #[test]
    fn the_owners_price_goes_before_the_list() {
        let free = Price::default();
        let own = BTreeMap::from([("a/gpt-5".to_owned(), free)]);
        let (prices, wrong) = Prices::new(&own);
        assert!(wrong.is_empty());
        assert_eq!(prices.of(&"a/gpt-5".parse().unwrap()), Some(free));
        let elsewhere = prices.of(&"b/gpt-5".parse().unwrap()).unwrap();
        assert_eq!(elsewhere.input, 1.25);
    }

    #[test]
    fn a_price_below_nothing_is_named_and_left_out() {
        let negative = Price {
            input: -1.0,
            ..Price::default()
        };
        let (prices, wrong) = Prices::new(&BTreeMap::from([("gpt-5".to_owned(), negative)]));
        assert_eq!(wrong, ["models.prices.gpt-5: a price is 0 or more"]);
        assert_eq!(prices.of(&"a/gpt-5".parse().unwrap()).unwrap().input, 1.25);
    }

    #[test]
    fn costs_add_up_to_the_millionth() {
        let price = Price {
            input: 3.0,
            output: 15.0,
            cache_read: Some(0.3),
            cache_write: Some(3.75),
        };
        let usage = Usage {
            input: 1_000,
            output: 200,
            cache_read: 10_000,
            cache_write: 400,
            reasoning: 100,
        };
        // 3000 + 3000 + 3000 + 1500
        assert_eq!(cost(Some(price), &usage), Cost::MicroDollars(10_500));
        let one = Usage {
            cache_read: 1,
            ..Usage::default()
        };
        assert_eq!(cost(Some(price), &one), Cost::MicroDollars(1), "rounded up");
        assert_eq!(cost(None, &usage), Cost::Unknown);
        assert_eq!(
            upper_bound(Some(price), 1_000, 100),
            Cost::MicroDollars(5_250)
        );
    }
}
