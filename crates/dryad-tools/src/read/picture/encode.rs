//! Scales and encodes a picture until it is within the limits.

use super::{LARGEST_SIDE, fits};
use fast_image_resize::{FilterType, ResizeAlg, ResizeOptions, Resizer};
use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::PngEncoder;
use image::{DynamicImage, Rgb, RgbImage, RgbaImage};

/// JPEG qualities tried after PNG: the first competes with PNG for size, the others save bytes.
const QUALITIES: [u8; 5] = [80, 85, 70, 55, 40];

/// What each further attempt leaves of width and height.
const SHRINK: f64 = 0.75;

/// An encoded picture.
pub(super) struct Encoded {
    pub(super) bytes: Vec<u8>,
    pub(super) mime_type: &'static str,
    /// Width and height.
    pub(super) size: (u32, u32),
}

/// The picture in the largest size, and there in the best form, that is within the limits.
pub(super) fn within_limits(picture: &DynamicImage) -> Option<Encoded> {
    let (width, height) = (picture.width().max(1), picture.height().max(1));
    let mut factor = f64::min(1.0, f64::from(LARGEST_SIDE) / f64::from(width.max(height)));
    loop {
        let side = |side: u32| ((f64::from(side) * factor).round() as u32).max(1);
        let size = (side(width), side(height));
        let scaled = scale(picture, size)?;
        if let Some((bytes, mime_type)) = best_form(&scaled) {
            return Some(Encoded { bytes, mime_type, size });
        }
        if size == (1, 1) {
            return None;
        }
        factor *= SHRINK;
    }
}

fn scale(picture: &DynamicImage, (width, height): (u32, u32)) -> Option<DynamicImage> {
    let plain = if picture.color().has_alpha() {
        DynamicImage::ImageRgba8(picture.to_rgba8())
    } else {
        DynamicImage::ImageRgb8(picture.to_rgb8())
    };
    if (plain.width(), plain.height()) == (width, height) {
        return Some(plain);
    }
    let mut scaled = if plain.color().has_alpha() {
        DynamicImage::ImageRgba8(RgbaImage::new(width, height))
    } else {
        DynamicImage::ImageRgb8(RgbImage::new(width, height))
    };
    let options = ResizeOptions::new().resize_alg(ResizeAlg::Convolution(FilterType::Lanczos3));
    Resizer::new().resize(&plain, &mut scaled, &options).ok()?;
    Some(scaled)
}

/// PNG or JPEG at 80, whichever is smaller; else the first of the other qualities that fits.
/// A picture with transparency stays PNG as long as that fits.
fn best_form(picture: &DynamicImage) -> Option<(Vec<u8>, &'static str)> {
    let png = png(picture).filter(|bytes| fits(bytes.len())).map(|bytes| (bytes, "image/png"));
    if png.is_some() && picture.color().has_alpha() {
        return png;
    }
    let opaque = over_white(picture);
    let mut jpegs =
        QUALITIES.into_iter().filter_map(|quality| jpeg(&opaque, quality)).filter(|bytes| fits(bytes.len()));
    let jpeg = if png.is_some() { jpeg(&opaque, QUALITIES[0]).filter(|bytes| fits(bytes.len())) } else { jpegs.next() };
    let jpeg = jpeg.map(|bytes| (bytes, "image/jpeg"));
    [png, jpeg].into_iter().flatten().min_by_key(|(bytes, _)| bytes.len())
}

fn png(picture: &DynamicImage) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    picture.write_with_encoder(PngEncoder::new(&mut bytes)).ok()?;
    Some(bytes)
}

fn jpeg(picture: &RgbImage, quality: u8) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    JpegEncoder::new_with_quality(&mut bytes, quality).encode_image(picture).ok()?;
    Some(bytes)
}

/// JPEG knows no transparency: what shines through is white.
fn over_white(picture: &DynamicImage) -> RgbImage {
    if !picture.color().has_alpha() {
        return picture.to_rgb8();
    }
    let picture = picture.to_rgba8();
    let mut opaque = RgbImage::new(picture.width(), picture.height());
    for (pixel, source) in opaque.pixels_mut().zip(picture.pixels()) {
        let [red, green, blue, alpha] = source.0.map(u16::from);
        *pixel = Rgb([red, green, blue].map(|channel| ((channel * alpha + 255 * (255 - alpha)) / 255) as u8));
    }
    opaque
}
