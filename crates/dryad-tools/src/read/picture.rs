//! A picture as a model gets it: within 2000×2000 pixels and 4.5 MiB of base64.
//!
//! A picture that fits already is passed on byte for byte; only its header is parsed. Otherwise it is
//! turned upright, scaled with a high-quality filter and encoded in the first form that fits.

mod encode;

use super::ReadSettings;
use super::sniff::PictureFormat;
use crate::truncate::format_size;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dryad_protocol::call::ToolResult;
use dryad_protocol::content::{ImageBlock, UserBlock};
use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder as _, ImageFormat, ImageReader};
use std::fs::File;
use std::io::{Cursor, Read as _};

/// Larger files are not even opened as pictures.
const LARGEST_FILE: u64 = 20 * 1024 * 1024;

/// The longest base64 text a picture may become.
const LONGEST_BASE64: usize = 4_718_592;

/// Width and height that a picture may have.
const LARGEST_SIDE: u32 = 2000;

/// A picture ready to be sent.
struct Prepared {
    bytes: Vec<u8>,
    mime_type: &'static str,
    /// Original and present size, when they differ.
    scaled: Option<((u32, u32), (u32, u32))>,
}

/// Reads a picture whose first piece has been read already.
pub(super) fn read(
    format: PictureFormat,
    mut bytes: Vec<u8>,
    file: File,
    size: u64,
    settings: &ReadSettings,
) -> Result<ToolResult, String> {
    if size > LARGEST_FILE {
        return Err(too_large(size));
    }
    // One byte more than allowed, so that a file that grew meanwhile is noticed.
    file.take(LARGEST_FILE + 1).read_to_end(&mut bytes).map_err(|error| format!("Cannot read the image: {error}"))?;
    if bytes.len() as u64 > LARGEST_FILE {
        return Err(too_large(bytes.len() as u64));
    }
    if !settings.vision.sees() {
        let text =
            format!("{}\n[The image is omitted: the current model does not see images]", title(format.mime_type()));
        return Ok(ToolResult::text(text));
    }
    Ok(match prepare(format, bytes, settings.auto_resize) {
        Ok(prepared) => shown(prepared),
        Err(problem) => ToolResult::text(format!("{}\n[The image is omitted: {problem}]", title(format.mime_type()))),
    })
}

fn too_large(size: u64) -> String {
    format!("Image too large: {}, limit {}", format_size(size), format_size(LARGEST_FILE))
}

fn title(mime_type: &str) -> String {
    format!("Read image file [{mime_type}]")
}

fn shown(prepared: Prepared) -> ToolResult {
    let mut text = title(prepared.mime_type);
    if let Some(((width, height), (new_width, new_height))) = prepared.scaled {
        let factor = f64::from(width) / f64::from(new_width.max(1));
        text.push_str(&format!(
            "\n[Image scaled from {width}x{height} to {new_width}x{new_height}; multiply coordinates by {factor:.2}]"
        ));
    }
    let image = ImageBlock { data: STANDARD.encode(&prepared.bytes), mime_type: prepared.mime_type.to_owned() };
    ToolResult { content: vec![UserBlock::text(text), UserBlock::Image(image)], ..ToolResult::default() }
}

fn prepare(format: PictureFormat, bytes: Vec<u8>, auto_resize: bool) -> Result<Prepared, String> {
    let (width, height) = reader(format, &bytes).into_dimensions().map_err(|error| undecodable(&error))?;
    let is_small = width <= LARGEST_SIDE && height <= LARGEST_SIDE;
    let fits = fits(bytes.len());
    if fits && (is_small || !auto_resize) {
        return Ok(Prepared { bytes, mime_type: format.mime_type(), scaled: None });
    }
    if !auto_resize {
        let limit = format_size(LONGEST_BASE64 as u64);
        return Err(format!("its base64 form is over the {limit} limit, and images.autoResize is off"));
    }
    let picture = upright(format, &bytes).map_err(|error| undecodable(&error))?;
    let original = (picture.width(), picture.height());
    let encoded = encode::within_limits(&picture).ok_or("it cannot be made small enough")?;
    let scaled = (original != encoded.size).then_some((original, encoded.size));
    Ok(Prepared { bytes: encoded.bytes, mime_type: encoded.mime_type, scaled })
}

/// Whether so many bytes stay within the limit as base64.
fn fits(bytes: usize) -> bool {
    bytes.div_ceil(3) * 4 <= LONGEST_BASE64
}

fn undecodable(error: &image::ImageError) -> String {
    format!("it cannot be decoded ({error})")
}

fn reader(format: PictureFormat, bytes: &[u8]) -> ImageReader<Cursor<&[u8]>> {
    let format = match format {
        PictureFormat::Png => ImageFormat::Png,
        PictureFormat::Jpeg => ImageFormat::Jpeg,
        PictureFormat::Gif => ImageFormat::Gif,
        PictureFormat::Webp => ImageFormat::WebP,
    };
    ImageReader::with_format(Cursor::new(bytes), format)
}

/// Decodes a picture and turns it the way its camera was held.
fn upright(format: PictureFormat, bytes: &[u8]) -> Result<DynamicImage, image::ImageError> {
    let mut decoder = reader(format, bytes).into_decoder()?;
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let mut picture = DynamicImage::from_decoder(decoder)?;
    picture.apply_orientation(orientation);
    Ok(picture)
}

#[cfg(test)]
mod tests;
