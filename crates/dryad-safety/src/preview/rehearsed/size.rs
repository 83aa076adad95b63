//! Sizes as people read them.

/// A number of bytes in the unit that leaves a short number.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KB", "MB", "GB", "TB"];
    if bytes < 1024 {
        return format!("{bytes} {}", if bytes == 1 { "byte" } else { "bytes" });
    }
    // Exact far beyond any size that is shown with one digit.
    #[expect(clippy::cast_precision_loss, reason = "one digit is shown")]
    let mut number = bytes as f64 / 1024.0;
    let mut unit = UNITS[0];
    for larger in UNITS.into_iter().skip(1) {
        if number < 1024.0 {
            break;
        }
        number /= 1024.0;
        unit = larger;
    }
    format!("{number:.1} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_fits_the_number() {
        let sizes = [0, 1, 1023, 1024, 1536, 5 * 1024 * 1024, 3 << 40].map(size);
        assert_eq!(sizes, ["0 bytes", "1 byte", "1023 bytes", "1.0 KB", "1.5 KB", "5.0 MB", "3.0 TB"]);
    }
}
