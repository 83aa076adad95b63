//! Pictures, made in code, read from disk.

use crate::support::{Directory, text};
use dryad_protocol::content::UserBlock;
use dryad_tools::read::{ReadSettings, ReadTool, Vision};
use image::{DynamicImage, ImageFormat, RgbImage};
use serde_json::json;
use std::io::Cursor;

fn tool() -> ReadTool {
    ReadTool::new(ReadSettings::default())
}

fn picture(width: u32, height: u32, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    let picture = RgbImage::from_fn(width, height, |x, y| image::Rgb([x as u8, y as u8, 40]));
    DynamicImage::ImageRgb8(picture).write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

#[test]
fn every_format_is_known_by_its_content() {
    let directory = Directory::new();
    let formats = [
        (ImageFormat::Png, "image/png"),
        (ImageFormat::Jpeg, "image/jpeg"),
        (ImageFormat::Gif, "image/gif"),
        (ImageFormat::WebP, "image/webp"),
    ];
    for (format, mime_type) in formats {
        directory.put("picture.txt", picture(20, 10, format));
        let result = directory.answer(&tool(), json!({"path": "picture.txt"}));
        assert_eq!(text(&result), format!("Read image file [{mime_type}]"));
        let Some(UserBlock::Image(block)) = result.content.get(1) else { panic!("no picture: {result:?}") };
        assert_eq!(block.mime_type, mime_type);
    }
}

#[test]
fn a_large_picture_is_scaled_down() {
    let directory = Directory::new();
    directory.put("wide.png", picture(4000, 100, ImageFormat::Png));
    let result = directory.answer(&tool(), json!({"path": "wide.png"}));
    let (_, note) = text(&result).split_once('\n').unwrap();
    assert_eq!(note, "[Image scaled from 4000x100 to 2000x50; multiply coordinates by 2.00]");
    let unscaled = ReadTool::new(ReadSettings { auto_resize: false, ..ReadSettings::default() });
    let result = directory.answer(&unscaled, json!({"path": "wide.png"}));
    assert_eq!(text(&result), "Read image file [image/png]");
}

#[test]
fn a_moving_png_is_a_binary_file() {
    let directory = Directory::new();
    let mut bytes = picture(4, 4, ImageFormat::Png);
    // The signature and the header chunk take 33 bytes; the animation chunk follows them.
    let animation = [&8_u32.to_be_bytes()[..], b"acTL", &[0; 8], &[0; 4]].concat();
    bytes.splice(33..33, animation);
    let size = bytes.len();
    directory.put("a.png", bytes);
    let result = directory.answer(&tool(), json!({"path": "a.png"}));
    assert_eq!(text(&result), format!("[Cannot read binary file 'a.png' ({size}B)]"));
}

#[test]
fn a_model_without_vision_is_told() {
    let directory = Directory::new();
    directory.put("a.png", picture(4, 4, ImageFormat::Png));
    let vision = Vision::default();
    let tool = ReadTool::new(ReadSettings { vision: vision.clone(), ..ReadSettings::default() });
    assert_eq!(directory.answer(&tool, json!({"path": "a.png"})).content.len(), 2);
    vision.set(false);
    let result = directory.answer(&tool, json!({"path": "a.png"}));
    assert_eq!(result.content.len(), 1);
    let expected = "Read image file [image/png]\n[The image is omitted: the current model does not see images]";
    assert_eq!(text(&result), expected);
}

#[test]
fn a_picture_file_may_not_be_larger_than_the_limit() {
    let directory = Directory::new();
    let path = directory.put("a.png", picture(4, 4, ImageFormat::Png));
    std::fs::OpenOptions::new().append(true).open(path).unwrap().set_len(21 << 20).unwrap();
    assert_eq!(directory.error(&tool(), json!({"path": "a.png"})), "Image too large: 21.0MB, limit 20.0MB");
}

#[test]
fn a_broken_picture_is_told() {
    let directory = Directory::new();
    directory.put("a.jpg", b"\xff\xd8\xff\xe0 and then nothing of the kind");
    let result = directory.answer(&tool(), json!({"path": "a.jpg"}));
    assert_eq!(result.content.len(), 1);
    let start = "Read image file [image/jpeg]\n[The image is omitted: it cannot be decoded (";
    assert!(text(&result).starts_with(start), "{}", text(&result));
}
