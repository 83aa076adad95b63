//! Pictures that fit, are scaled, are turned, or are broken.

use super::*;
use image::{ColorType, ImageEncoder as _, RgbImage};

fn noise(width: u32, height: u32) -> RgbImage {
    let mut state = 1_u32;
    RgbImage::from_fn(width, height, |_, _| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        image::Rgb([(state >> 24) as u8, (state >> 16) as u8, (state >> 8) as u8])
    })
}

fn png(picture: &RgbImage) -> Vec<u8> {
    let mut bytes = Vec::new();
    let encoder = image::codecs::png::PngEncoder::new(&mut bytes);
    encoder.write_image(picture, picture.width(), picture.height(), ColorType::Rgb8.into()).unwrap();
    bytes
}

/// A JPEG that says by EXIF that the camera was turned a quarter (orientation 6).
fn turned_jpeg(width: u32, height: u32) -> Vec<u8> {
    let mut plain = Vec::new();
    let picture = RgbImage::from_pixel(width, height, image::Rgb([200, 10, 10]));
    image::codecs::jpeg::JpegEncoder::new(&mut plain).encode_image(&picture).unwrap();
    let tiff = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0";
    let payload = [b"Exif\0\0".as_slice(), tiff].concat();
    let length = (payload.len() as u16 + 2).to_be_bytes();
    [&plain[..2], &[0xff, 0xe1], &length, &payload, &plain[2..]].concat()
}

#[test]
fn a_picture_that_fits_is_passed_on_byte_for_byte() {
    let bytes = png(&noise(20, 10));
    let prepared = prepare(PictureFormat::Png, bytes.clone(), true).unwrap();
    assert_eq!((prepared.bytes, prepared.mime_type, prepared.scaled), (bytes, "image/png", None));
}

#[test]
fn a_large_picture_is_scaled_and_says_so() {
    let bytes = png(&RgbImage::from_pixel(3000, 30, image::Rgb([1, 2, 3])));
    let result = shown(prepare(PictureFormat::Png, bytes, true).unwrap());
    let text = result.content[0].as_text().unwrap();
    assert_eq!(
        text,
        "Read image file [image/png]\n[Image scaled from 3000x30 to 2000x20; multiply coordinates by 1.50]"
    );
    let UserBlock::Image(block) = &result.content[1] else { panic!("no image") };
    let decoded = image::load_from_memory(&STANDARD.decode(&block.data).unwrap()).unwrap();
    assert_eq!((decoded.width(), decoded.height()), (2000, 20));
}

#[test]
fn a_turned_photograph_is_turned_upright() {
    let prepared = prepare(PictureFormat::Jpeg, turned_jpeg(2400, 100), true).unwrap();
    assert_eq!(prepared.scaled, Some(((100, 2400), (83, 2000))));
}

#[test]
fn a_picture_of_too_many_bytes_is_encoded_again() {
    let bytes = png(&noise(1300, 1000));
    assert!(!fits(bytes.len()));
    let prepared = prepare(PictureFormat::Png, bytes.clone(), true).unwrap();
    assert!(fits(prepared.bytes.len()));
    assert_eq!((prepared.mime_type, prepared.scaled), ("image/jpeg", None));
    let refused = prepare(PictureFormat::Png, bytes, false).err().unwrap();
    assert_eq!(refused, "its base64 form is over the 4.5MB limit, and images.autoResize is off");
}

#[test]
fn transparency_is_kept_when_it_fits() {
    let mut bytes = Cursor::new(Vec::new());
    let picture = image::RgbaImage::from_pixel(2100, 10, image::Rgba([9, 9, 9, 0]));
    DynamicImage::ImageRgba8(picture).write_to(&mut bytes, ImageFormat::Png).unwrap();
    let prepared = prepare(PictureFormat::Png, bytes.into_inner(), true).unwrap();
    assert_eq!(prepared.mime_type, "image/png");
    assert_eq!(image::load_from_memory(&prepared.bytes).unwrap().to_rgba8().get_pixel(0, 0).0[3], 0);
}

#[test]
fn a_broken_picture_is_told_and_left_out() {
    let error = prepare(PictureFormat::Png, b"\x89PNG\r\n\x1a\n broken".to_vec(), true).err().unwrap();
    assert!(error.starts_with("it cannot be decoded ("), "{error}");
}
