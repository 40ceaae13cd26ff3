use std::cmp::Ordering;

use super::{Quantity, strip};

/// Ten times as much still fits into a `u128`.
const MAX_MANTISSA: u128 = 10u128.pow(37);

impl Quantity<'_> {
    /// Adds `other`: `Add`. Zero takes the other quantity's format.
    pub fn add(&mut self, other: &Quantity<'_>) {
        self.text = None;
        if self.is_zero() {
            self.format = other.format;
        }
        if other.is_zero() {
            return;
        }
        if self.is_zero() {
            (self.negative, self.mantissa, self.scale) =
                (other.negative, other.mantissa, other.scale);
            return;
        }
        let scale = self.scale.min(other.scale);
        let at = |q: &Quantity<'_>| {
            let shift = 10i128.checked_pow(q.scale.abs_diff(scale))?;
            let value = i128::try_from(q.mantissa).ok()?.checked_mul(shift)?;
            Some(if q.negative { -value } else { value })
        };
        // Quantities too far apart to be added sum to the greater one.
        let sum = at(self).zip(at(other)).and_then(|(a, b)| a.checked_add(b));
        if let Some(sum) = sum.filter(|sum| sum.unsigned_abs() < MAX_MANTISSA) {
            self.negative = sum < 0;
            (self.mantissa, self.scale) = strip(sum.unsigned_abs(), scale);
        } else if other.cmp_magnitude(self) == Ordering::Greater {
            (self.negative, self.mantissa, self.scale) =
                (other.negative, other.mantissa, other.scale);
        }
    }

    fn cmp_magnitude(&self, other: &Quantity<'_>) -> Ordering {
        match (self.mantissa, other.mantissa) {
            (0, 0) => return Ordering::Equal,
            (0, _) => return Ordering::Less,
            (_, 0) => return Ordering::Greater,
            _ => {}
        }
        let length = |q: &Quantity<'_>| q.mantissa.ilog10();
        let order = |q: &Quantity<'_>| i64::from(length(q)) + i64::from(q.scale);
        order(self).cmp(&order(other)).then_with(|| {
            // Both mantissas are padded to the same length, at most 37 digits, so they fit.
            let longest = length(self).max(length(other));
            let padded = |q: &Quantity<'_>| q.mantissa * 10u128.pow(longest - length(q));
            padded(self).cmp(&padded(other))
        })
    }
}

/// By value, whatever the notation: `Cmp`.
impl Ord for Quantity<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.is_negative(), other.is_negative()) {
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => self.cmp_magnitude(other),
            (true, true) => other.cmp_magnitude(self),
        }
    }
}
impl PartialOrd for Quantity<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Quantity<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Quantity<'_> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compares_values_not_texts() {
        let cmp = |a: &str, b: &str| Quantity::parse(a).unwrap().cmp(&Quantity::parse(b).unwrap());
        assert_eq!(cmp("1", "1000m"), Ordering::Equal);
        assert_eq!(cmp("1Gi", "1G"), Ordering::Greater);
        assert_eq!(cmp("-1", "0"), Ordering::Less);
        assert_eq!(cmp("-2", "-1"), Ordering::Less);
        assert_eq!(cmp("1e100", "1e99"), Ordering::Greater);
        assert_eq!(cmp("0.1", "100m"), Ordering::Equal);
        assert_eq!(cmp("9Ei", "1E"), Ordering::Greater);
        assert_eq!(cmp("-0", "0"), Ordering::Equal);
    }

    #[test]
    fn adds_and_divides() {
        let mut sum = Quantity::parse("0").unwrap();
        for part in ["1Gi", "512Mi", "512Mi"] {
            sum.add(&Quantity::parse(part).unwrap());
        }
        assert_eq!(sum.to_text(), "2Gi");
        let mut cpu = Quantity::parse("500m").unwrap();
        cpu.add(&Quantity::parse("0.6").unwrap());
        assert_eq!(cpu.to_text(), "1100m");
        let multiple = |a: &str, b: &str| {
            Quantity::parse(a).unwrap().is_multiple_of(&Quantity::parse(b).unwrap())
        };
        assert!(multiple("4Mi", "2Mi") && !multiple("3Mi", "2Mi") && !multiple("1", "0"));
    }
}
