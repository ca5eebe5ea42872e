import { randomBytes, randomUUID } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { isDeepStrictEqual } from 'node:util';
import { expect } from 'chai';
import { readImageResponse } from '../../shared/gateways/upstreams/imageResponse.ts';
import { PNG } from '../fakes/misbehave.ts';
import { createLargeResponse } from '../harness/largeResponse.ts';
import { setTestConfig } from '../harness/testConfig.ts';
import { useFolder } from '../harness/useFolder.ts';

/** Length of the chunks in which a response arrives. Each place is the end of one in one of so many readings. */
const CHUNK_BYTES = 25;

describe('reading a response with an image', () => {
  const folder = useFolder({ isCleared: true });
  before(() => setTestConfig());

  const receive = (chunks: Iterable<Buffer> | AsyncIterable<Buffer>, together = 1_000_000, each = together) =>
    readImageResponse(Readable.from(chunks), async () => join(folder, randomUUID()), { each, together });
  const imageIn = async (text: string, cuts: number[] = []) => {
    const bytes = Buffer.from(text);
    const ends = [0, ...cuts, bytes.length];
    const { body, images } = await receive(ends.slice(1).map((end, index) => bytes.subarray(ends[index], end)));
    const contents = images.map(async (image) => ('file' in image ? readFile(image.file) : image.url));
    return { body, images: await Promise.all(contents), entries: images.map(({ entry }) => entry) };
  };

  // All characters of base64 three times, and more than the prefix that detects an image.
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  const picture = Buffer.concat([PNG, Buffer.from(alphabet.repeat(3), 'base64')]);
  const base64 = picture.toString('base64');
  const answers: [string, string, unknown[]][] = [
    ['as it usually is', `{"created":1,"data":[{"b64_json":"${base64}","url":null}],"usage":{"n":1}}`, [picture]],
    ['with room', ` \r\n{ "data"\t:\n[ { "b64_json" : "${base64}" } ] } \n`, [picture]],
    ['with slashes that are escaped', `{"data":[{"b64_json":"${base64.replaceAll('/', '\\/')}"}]}`, [picture]],
    ['with signs by their numbers', `{"data":[{"b64_json":"${base64.replaceAll(/[+/=]/g, numbered)}"}]}`, [picture]],
    ['in lines', `{"data":[{"b64_json":"${base64.replaceAll(/.{20}/g, '$&\\r\\n')}"}]}`, [picture]],
    ['in the alphabet for addresses', `{"data":[{"b64_json":"${picture.toString('base64url')}"}]}`, [picture]],
    ['with what makes it an address', `{"data":[{"b64_json":"data:image\\/png;base64,${base64}"}]}`, [picture]],
    ['inside of an address', `{"data":[{"url":"data:image/png;base64,${base64}"}]}`, [picture]],
    ['twice', `{"data":[{"b64_json":"AAAA"},{"b64_json":"${base64}"}]}`, [Buffer.alloc(3), picture]],
    [
      'in each entry',
      `{"data":[{"b64_json":"${base64}","url":"x"},{},{"b64_json":"AAAA"}]}`,
      [picture, Buffer.alloc(3)],
    ],
    ['in one of the fields', `{"data":[{"b64_json":"${base64}"},{"url":"https://a.example/"}]}`, [picture]],
    [
      'at addresses',
      '{"data":[{"url":"https://a.example/1"},{"url":"https://a.example/2"}]}',
      ['https://a.example/1', 'https://a.example/2'],
    ],
    ['after an empty one', `{"data":[{"b64_json":"","url":""},{"b64_json":"${base64}"}]}`, [picture]],
    ['after null', `{"data":[{"b64_json":null,"url":"https://a.example/b?c=d"}]}`, ['https://a.example/b?c=d']],
    ['at an address with escapes', `{"data":[{"url":"https:\\/\\/a.example\\/\\u00e9é"}]}`, ['https://a.example/éé']],
    [
      'after texts that look like it',
      `{"b64_json":"AAAA","url":"x","data":[{"text":"\\"b64_json\\":\\"AAAA\\\\","n":{"b64_json":"AAAA"},"b64_json":"${base64}"}]}`,
      [picture],
    ],
    ['nowhere', '{"data":[],"b64_json":"AAAA","more":[{"b64_json":"AAAA","url":"x"}]}', []],
    ['nowhere, in a list', '[[{"b64_json":"AAAA"}]]', []],
  ];
  for (const [where, text, images] of answers) {
    it(`extracts it ${where}, wherever the chunks end`, async () => {
      const length = Buffer.byteLength(text);
      const whole = await imageIn(text);
      expect(whole.images).to.deep.equal(images);
      expect(whole.body).to.be.an(text.startsWith('[') ? 'array' : 'object');
      const places = Array.from({ length: length - 1 }, (_, index) => index + 1);
      // Comparing 7,000 buffers with `deep.equal` takes seconds.
      for (const first of places.slice(0, CHUNK_BYTES)) {
        const cuts = places.filter((place) => place >= first && (place - first) % CHUNK_BYTES === 0);
        expect(isDeepStrictEqual(await imageIn(text, cuts), whole), `cut at ${cuts.join()}`).to.equal(true);
      }
      expect(await imageIn(text, places)).to.deep.equal(whole);
    });
  }

  it('keeps the rest of the response unchanged', async () => {
    const rest = { text: 'é "灯" \\ \u0001', list: [1, { data: [{ url: 'x' }] }], usage: null };
    const { body } = await imageIn(JSON.stringify({ ...rest, data: [{ b64_json: base64, revised: 'é' }] }));
    expect(body).to.deep.equal({ ...rest, data: [{ b64_json: '', revised: 'é' }] });
  });

  it('accepts a response with megabytes of other content', async () => {
    const signature = 'x'.repeat(3_000_000);
    const { body, images } = await imageIn(JSON.stringify({ signature, data: [{ b64_json: base64 }] }));
    expect([body, images]).to.deep.equal([{ signature, data: [{ b64_json: '' }] }, [picture]]);
  });

  it('decodes any number of bytes', async () => {
    for (const length of [1, 2, 3, 4, 255, 256, 257, 10_000]) {
      const bytes = randomBytes(length);
      const text = JSON.stringify({ data: [{ b64_json: bytes.toString('base64') }] });
      expect((await imageIn(text, [30])).images).to.deep.equal([bytes]);
    }
  });

  it('says in which entry of the list each is', async () => {
    const text = `{"other":[1,[2],{"a":[3,4]}],"data":[{},{"b64_json":"${base64}","n":[1,2]},null,{"b64_json":"AAAA"}]}`;
    expect((await imageIn(text)).entries).to.deep.equal([1, 3]);
  });

  it('takes as many images as a generation may have', async () => {
    const text = JSON.stringify({ data: Array.from({ length: 20 }, () => ({ b64_json: 'AAAA' })) });
    expect((await imageIn(text)).images).to.have.length(16);
  });

  for (const [where, before] of [
    ['in the answer', '{"data":[{"b64_json":"'],
    ['inside of an address', '{"data":[{"b64_json":null,"url":"data:image/png;base64,'],
    ['that is not the first', `{"data":[{"b64_json":"${base64}"},{"b64_json":"`],
  ] as const) {
    it(`uses little memory for an image of 30 MB ${where}`, async () => {
      const { bytes, chunks, peak } = await createLargeResponse(before, '"}]}');
      const { images } = await receive(chunks(), 100_000_000);
      const image = images.at(-1);
      if (image === undefined || !('file' in image)) throw new Error('no file');
      expect((await stat(image.file)).size).to.equal(bytes);
      expect(peak()).to.be.within(-4 * 1024 * 1024, 4 * 1024 * 1024);
    });
  }

  it('rejects an image over the size limit, and keeps no file', async () => {
    let sent = 0;
    function* endless() {
      yield Buffer.from('{"data":[{"b64_json":"');
      for (; sent < 1_000; sent += 1) yield Buffer.alloc(100_000, 'A');
    }
    const problem = await receive(endless()).catch((error: Error) => error);
    expect(problem).to.include({ message: 'The output is larger than 1000000 bytes.' });
    expect(sent).to.be.below(100);
    expect(await readdir(folder)).to.deep.equal([]);
  });

  it('rejects an image over the limit of each, although all together are below theirs', async () => {
    const entry = { b64_json: randomBytes(1_000).toString('base64') };
    const chunks = [Buffer.from(JSON.stringify({ data: [entry, entry] }))];
    expect((await receive(chunks, 5_000, 1_000)).images).to.have.length(2);
    const problem = await receive(chunks, 5_000, 999).catch((error: Error) => error);
    expect(problem).to.include({ message: 'The output is larger than 999 bytes.' });
  });

  it('rejects images that are together over the size limit, and keeps no file', async () => {
    const entry = { b64_json: randomBytes(400_000).toString('base64') };
    const problem = await receive([Buffer.from(JSON.stringify({ data: [entry, entry, entry] }))]).catch(
      (error: Error) => error,
    );
    expect(problem).to.be.an('error').with.property('message').that.includes('larger than');
    expect(await readdir(folder)).to.deep.equal([]);
  });

  it('keeps no file of a response that breaks off after an image', async () => {
    const { body, images } = await receive([Buffer.from(`{"data":[{"b64_json":"${base64}"}]`)]);
    expect([body, images, await readdir(folder)]).to.deep.equal([undefined, [], []]);
  });

  it('rejects an endless address', async () => {
    const text = JSON.stringify({ data: [{ url: `https://a.example/${'x'.repeat(10_000)}` }] });
    const problem = await imageIn(text).catch((error: Error) => error);
    expect(problem).to.be.an('error');
  });
});

function numbered(sign: string): string {
  return `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
