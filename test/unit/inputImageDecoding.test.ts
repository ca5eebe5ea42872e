import { type FileHandle, open, readFile, writeFile } from 'node:fs/promises';
import { crc32, deflateSync } from 'node:zlib';
import { expect } from 'chai';
import sharp, { type SharpOptions } from 'sharp';
import { decodeImage, InvalidImageError } from '../../shared/gateways/media/inputImages.ts';
import { captureError } from '../harness/expectRejection.ts';
import { createImageDecoder } from '../harness/imageDecoder.ts';
import { describeImage, makeImage } from '../harness/inputImages.ts';
import { MP4 } from '../fakes/misbehave.ts';

const PIXELS_DETAIL = 'The image has more than 50 megapixels, or a side of more than 30,000 pixels. Make it smaller.';
const CANNOT_BE_DECODED = 'The image cannot be decoded: it must be an undamaged PNG, JPEG or WebP file.';

/** Builds a square PNG with one bit for each pixel, without decoding it. */
function buildWhitePng(side: number): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(side, 0);
  header.writeUInt32BE(side, 4);
  header[8] = 1;
  const rows = deflateSync(Buffer.alloc(side * (1 + side / 8)), { level: 9 });
  const chunks = [buildChunk('IHDR', header), buildChunk('IDAT', rows), buildChunk('IEND', Buffer.alloc(0))];
  return Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), ...chunks]);
}

function buildChunk(type: string, data: Buffer): Buffer {
  const content = Buffer.concat([Buffer.from(type), data]);
  const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  checksum.writeUInt32BE(crc32(content));
  return Buffer.concat([length, content, checksum]);
}

describe('decoding an input image', () => {
  const decoder = createImageDecoder();
  async function decode(content: Uint8Array) {
    const image = await decoder.decode(content);
    return { ...image, content: await readFile(image.localFile) };
  }

  async function expectInvalid(content: Uint8Array, message = CANNOT_BE_DECODED): Promise<void> {
    const error = await captureError(decode(content));
    expect(error).to.be.instanceOf(InvalidImageError);
    expect(error.message).to.equal(message);
  }

  for (const [format, hasAlpha, stored] of [
    ['png', false, 'png'],
    ['png', true, 'png'],
    ['jpeg', false, 'jpeg'],
    ['webp', false, 'jpeg'],
    ['webp', true, 'png'],
  ] as const) {
    it(`writes a ${format} ${hasAlpha ? 'with' : 'without'} transparency as ${stored} of the same size`, async () => {
      const picture = sharp(await makeImage('png', { width: 31, height: 17 }));
      const source = await (hasAlpha ? picture.ensureAlpha(0.5) : picture).toFormat(format).toBuffer();
      const { content, ...image } = await decode(source);
      expect(image).to.include({ contentType: `image/${stored}`, width: 31, height: 17, bytes: content.length });
      expect(await sharp(content).metadata()).to.include({ format: stored, hasAlpha });
    });
  }

  for (const subsampling of ['4:2:0', '4:4:4'] as const) {
    it(`keeps the color resolution of a JPEG with ${subsampling}`, async () => {
      const source = await sharp(await makeImage())
        .jpeg({ chromaSubsampling: subsampling })
        .toBuffer();
      expect((await sharp((await decode(source)).content).metadata()).chromaSubsampling).to.equal(subsampling);
    });
  }

  it('removes EXIF, the GPS position, comments and the color profile', async () => {
    const photo = await sharp(await makeImage('jpeg'))
      .withMetadata({ orientation: 1 })
      .withExif({
        IFD0: { Copyright: 'Jane Doe', Software: 'camera-firmware' },
        IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '51/1 30/1 3230/100', GPSLongitudeRef: 'W' },
      })
      .withIccProfile('p3')
      .jpeg()
      .toBuffer();
    const before = await sharp(photo).metadata();
    expect(before.exif?.length).to.be.greaterThan(100);
    expect(before.icc).to.not.equal(undefined);
    const { content } = await decode(photo);
    const after = await sharp(content).metadata();
    expect(after).to.not.have.any.keys('exif', 'icc', 'xmp', 'iptc', 'comments', 'orientation');
    for (const text of ['Exif', 'GPS', 'Jane Doe', 'camera-firmware'])
      expect(content.includes(text), text).to.equal(false);
  });

  it('turns a photo upright', async () => {
    const lying = await sharp(await makeImage('jpeg', { width: 40, height: 20 }))
      .withMetadata({ orientation: 6 })
      .toBuffer();
    const { width, height } = await decode(lying);
    expect({ width, height }).to.deep.equal({ width: 20, height: 40 });
  });

  it('keeps only the first frame of an animation', async () => {
    const frames = await Promise.all(['teal', 'red'].map((background) => makeImage('png', { background })));
    const animation = await sharp(frames, { join: { animated: true } })
      .webp({ loop: 0, delay: [100, 100] })
      .toBuffer();
    expect((await sharp(animation, { pages: -1 }).metadata()).pages).to.equal(2);
    const { content } = await decode(animation);
    expect((await sharp(content, { pages: -1 }).metadata()).pages ?? 1).to.equal(1);
    expect(await describeImage(content)).to.deep.include({ width: 64, height: 48 });
  });

  it('drops whatever follows the image or is hidden in its chunks', async () => {
    const script = '<script>alert(document.domain)</script>';
    for (const format of ['png', 'jpeg', 'webp'] as const) {
      const polyglot = Buffer.concat([await makeImage(format), Buffer.from(`PK\u0003\u0004${script}`)]);
      const { content } = await decode(polyglot);
      expect(content.includes('script'), format).to.equal(false);
      expect(content.includes('PK\u0003\u0004'), format).to.equal(false);
    }
    const jpeg = await makeImage('jpeg');
    const comment = Buffer.concat([Buffer.from([0xff, 0xfe, 0, script.length + 2]), Buffer.from(script)]);
    const commented = Buffer.concat([jpeg.subarray(0, 2), comment, jpeg.subarray(2)]);
    expect((await decode(commented)).content.includes('script')).to.equal(false);
  });

  it('rejects an image of more than 50 megapixels before it is in memory', async () => {
    const bomb = buildWhitePng(10_000);
    expect(bomb.length).to.be.lessThan(20_000);
    await expectInvalid(bomb, PIXELS_DETAIL);
  });

  it('rejects an image with a side of more than 30,000 pixels, since whole lines are in memory', async () => {
    const create = { width: 30_001, height: 8, channels: 3, background: 'teal' } as const;
    await expectInvalid(await sharp({ create }).png().toBuffer(), PIXELS_DETAIL);
  });

  it('rejects an image that is larger than the limit once it is encoded again', async () => {
    const source = decoder.getPath('large');
    await writeFile(source, await makeImage('jpeg'));
    const { bytes } = await decodeImage(source, `${source}.decoded`, 1);
    expect((await decodeImage(source, `${source}.same`, 1, bytes)).bytes).to.equal(bytes);
    const error = await captureError(decodeImage(source, `${source}.larger`, 1, bytes - 1));
    expect(error).to.be.instanceOf(InvalidImageError);
    expect(error.message).to.match(/^The image has more than .* MB when it is encoded without its metadata/);
  });

  it('flushes the image to the disk before it is stored', async () => {
    const handle = await open(decoder.getPath('any'), 'w');
    const prototype = Object.getPrototypeOf(handle) as FileHandle;
    await handle.close();
    const original = Object.getOwnPropertyDescriptor(prototype, 'sync') as PropertyDescriptor;
    let flushed = 0;
    Object.defineProperty(prototype, 'sync', {
      ...original,
      value(this: FileHandle) {
        flushed += 1;
        return original.value.call(this) as Promise<void>;
      },
    });
    try {
      await decode(await makeImage());
    } finally {
      Object.defineProperty(prototype, 'sync', original);
    }
    expect(flushed).to.equal(1);
  });

  it('rejects a truncated image', async () => {
    for (const format of ['png', 'jpeg', 'webp'] as const) {
      const noise = {
        create: { width: 200, height: 200, channels: 3, noise: { type: 'gaussian', mean: 128, sigma: 60 } },
      };
      const whole = await sharp(noise as SharpOptions)
        .toFormat(format)
        .toBuffer();
      await expectInvalid(whole.subarray(0, whole.length / 2));
    }
  });

  it('rejects every other type, whatever its name or its first bytes', async () => {
    const picture = sharp(await makeImage());
    const others: Record<string, Uint8Array> = {
      empty: Buffer.alloc(0),
      text: Buffer.from('no image'),
      html: Buffer.from('<html><script>alert(1)</script></html>'),
      svg: Buffer.from(
        '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><image href="file:///etc/passwd"/></svg>',
      ),
      gif: await picture.gif().toBuffer(),
      tiff: await picture.tiff().toBuffer(),
      heif: await picture.heif({ compression: 'av1' }).toBuffer(),
      video: MP4,
      pdf: Buffer.from('%PDF-1.7\n'),
      'a PNG signature alone': Buffer.from('89504e470d0a1a0a', 'hex'),
      'a JPEG signature before a script': Buffer.from('\u00ff\u00d8\u00ff<script>', 'latin1'),
    };
    for (const [name, content] of Object.entries(others)) {
      const error = await captureError(decode(content));
      expect(error, name).to.be.instanceOf(InvalidImageError);
    }
  });
});
