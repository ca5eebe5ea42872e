import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import type { ApiResponse } from '../harness/apiClient.ts';
import { useTestService } from '../harness/testService.ts';
import { expectError } from '../harness/errorEnvelope.ts';
import { sendRawRequest } from '../harness/rawRequest.ts';

const CONTENT = 'abcdefghijklmnopqrstuvwxyz';
const FILE = '/media/ab/0123456789/video.mp4';

describe('media', () => {
  const service = useTestService({ workers: 0 });
  before(async () => {
    const folder = join(service.env['MEDIA_DIR'] ?? '', 'ab/0123456789');
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'video.mp4'), CONTENT);
    await writeFile(join(folder, 'image.png'), CONTENT);
    await writeFile(join(folder, 'thumbnail.webp'), CONTENT);
    await writeFile(join(folder, '.hidden'), CONTENT);
    await writeFile(join(service.env['MEDIA_DIR'] ?? '', '..', 'secret.txt'), 'secret');
    const original = join(service.env['MEDIA_DIR'] ?? '', 'uploads/ab/0123456789/original');
    await mkdir(original, { recursive: true });
    for (const name of ['../image.png', 'file', 'file.png']) await writeFile(join(original, name), 'private');
    await mkdir(join(service.env['MEDIA_DIR'] ?? '', '.incoming/aa'), { recursive: true });
    await writeFile(join(service.env['MEDIA_DIR'] ?? '', '.incoming/aa/half.mp4'), 'half');
  });

  // `fetch` would turn conditional requests into unconditional ones.
  const get = (headers: Record<string, string> = {}, path = FILE) =>
    sendRawRequest(service.baseUrl, 'GET', path, { headers });

  it('serves an output with its type and cache headers', async () => {
    const { status, headers, text } = await get();
    expect([status, text]).to.deep.equal([200, CONTENT]);
    expect(headers.get('content-type')).to.equal('video/mp4');
    expect(headers.get('content-length')).to.equal('26');
    expect(headers.get('cache-control')).to.equal('public, max-age=86400');
    expect(headers.get('accept-ranges')).to.equal('bytes');
    expect(headers.get('etag')).to.be.a('string');
    expect(headers.get('last-modified')).to.be.a('string');
    expect((await get({}, '/media/ab/0123456789/image.png')).headers.get('content-type')).to.equal('image/png');
    expect((await get({}, '/media/ab/0123456789/thumbnail.webp')).headers.get('content-type')).to.equal('image/webp');
  });

  it('allows other sites to show an output, without scripts', async () => {
    const { headers } = await get();
    expect(headers.get('cross-origin-resource-policy')).to.equal('cross-origin');
    expect(headers.get('content-security-policy')).to.equal("default-src 'none'; sandbox");
    expect(headers.get('x-content-type-options')).to.equal('nosniff');
    expect(headers.get('set-cookie')).to.equal(null);
  });

  it('lets pages of any origin read an output and its ranges', async () => {
    const { status, headers } = await get({ origin: 'https://tool.example', range: 'bytes=0-3' });
    expect([status, headers.get('access-control-allow-origin')]).to.deep.equal([206, '*']);
    expect(headers.get('access-control-expose-headers')).to.include('Content-Range');
    expect(headers.get('access-control-allow-credentials')).to.equal(null);
    const asked = { origin: 'https://tool.example', 'access-control-request-method': 'GET' };
    const preflight = await sendRawRequest(service.baseUrl, 'OPTIONS', FILE, { headers: asked });
    expect(preflight.status).to.equal(204);
    expect(preflight.headers.get('access-control-allow-headers')).to.include('Range');
    const missing = await get({ origin: 'https://tool.example' }, '/media/ab/0123456789/none.png');
    expect([missing.status, missing.headers.get('access-control-allow-origin')]).to.deep.equal([404, '*']);
  });

  it('needs no credentials and is not rate limited', async () => {
    expect((await get({ authorization: 'Bearer nonsense' })).status).to.equal(200);
    expect((await get()).headers.get('ratelimit')).to.equal(null);
  });

  const ranges: [string, string, string][] = [
    ['bytes=0-4', 'abcde', 'bytes 0-4/26'],
    ['bytes=20-', 'uvwxyz', 'bytes 20-25/26'],
    ['bytes=-3', 'xyz', 'bytes 23-25/26'],
    ['bytes=24-999', 'yz', 'bytes 24-25/26'],
    ['bytes=-26', CONTENT, 'bytes 0-25/26'],
  ];
  for (const [range, part, contentRange] of ranges) {
    it(`returns 206 for Range: ${range}`, async () => {
      const { status, headers, text } = await get({ range });
      expect([status, text]).to.deep.equal([206, part]);
      expect(headers.get('content-range')).to.equal(contentRange);
      expect(headers.get('content-length')).to.equal(String(part.length));
    });
  }

  for (const range of ['bytes=26-', 'bytes=100-200']) {
    it(`returns 416 for Range: ${range}, in the envelope and not cacheable`, async () => {
      const response = await get({ range });
      expectError(response, 'validation_error', 'Range', 416);
      expect(response.headers.get('content-range')).to.equal('bytes */26');
      expect(response.headers.get('cache-control') ?? '').to.not.include('immutable');
    });
  }

  for (const range of ['bytes=a-b', 'lines=0-4', 'bytes', '0-4', 'bytes=0-1,5-6']) {
    it(`sends the whole file for an unsupported Range: ${range}`, async () => {
      const { status, text } = await get({ range });
      expect([status, text]).to.deep.equal([200, CONTENT]);
    });
  }

  it('returns 304 for a conditional request if the file is unchanged', async () => {
    const { headers } = await get();
    const etag = headers.get('etag') ?? '';
    const modified = headers.get('last-modified') ?? '';
    const conditions: Record<string, string>[] = [
      { 'if-none-match': etag },
      { 'if-none-match': '*' },
      { 'if-modified-since': modified },
    ];
    for (const condition of conditions) {
      const { status, text, headers: again } = await get(condition);
      expect([status, text], JSON.stringify(condition)).to.deep.equal([304, '']);
      expect(again.get('etag')).to.equal(etag);
    }
    expect((await get({ 'if-none-match': '"other"' })).status).to.equal(200);
    expect((await get({ 'if-modified-since': 'Thu, 01 Jan 1970 00:00:00 GMT' })).status).to.equal(200);
  });

  it('supports If-Range', async () => {
    const etag = (await get()).headers.get('etag') ?? '';
    const modified = (await get()).headers.get('last-modified') ?? '';
    expect((await get({ range: 'bytes=0-4', 'if-range': modified })).status).to.equal(206);
    expect((await get({ range: 'bytes=0-4', 'if-range': '"other"' })).status).to.equal(200);
    expect((await get({ range: 'bytes=0-4', 'if-range': etag })).status).to.be.oneOf([200, 206]);
  });

  it('returns 412 if a precondition fails', async () => {
    expectError(await get({ 'if-match': '"other"' }), 'validation_error', 'If-Match', 412);
    const long = { 'if-unmodified-since': 'Thu, 01 Jan 1970 00:00:00 GMT' };
    expectError(await get(long), 'validation_error', 'If-Unmodified-Since', 412);
  });

  it('responds to HEAD like GET, without the body', async () => {
    const [head, whole] = [await sendRawRequest(service.baseUrl, 'HEAD', FILE), await get()];
    expect([head.status, head.text]).to.deep.equal([200, '']);
    for (const name of ['content-type', 'content-length', 'etag', 'cache-control', 'accept-ranges']) {
      expect(head.headers.get(name), name).to.equal(whole.headers.get(name));
    }
    const part = await sendRawRequest(service.baseUrl, 'HEAD', FILE, { headers: { range: 'bytes=0-4' } });
    expect([part.status, part.headers.get('content-length'), part.text]).to.deep.equal([206, '5', '']);
    expect((await sendRawRequest(service.baseUrl, 'HEAD', '/media/ab/0123456789/none.mp4')).status).to.equal(404);
  });

  it('serves twenty ranges at the same time', async () => {
    const parts = await Promise.all(Array.from(CONTENT, (_, index) => get({ range: `bytes=${index}-${index}` })));
    expect(parts.map(({ text }) => text).join('')).to.equal(CONTENT);
  });

  const absent = [
    '/media/',
    '/media/ab/',
    '/media/ab/0123456789/',
    '/media/ab/0123456789/none.mp4',
    '/media/ab/0123456789/video.mp4/',
    '/media/ab/0123456789/.hidden',
    '/media/uploads/ab/0123456789/image.png',
    '/media/uploads%2Fab/0123456789/image.png',
    '/media/uploads/ab%2f0123456789/image.png',
    '/media/uploads/ab/0123456789%2Fimage.png',
    '/media/uploads%2fab%2f0123456789/original/file',
    '/media/uploads%2fab%2f0123456789/original/file.png',
    '/media/uploads%252Fab/0123456789/image.png',
    '/media/ab/0123456789/%E0%A4%A.mp4',
    '/media/.incoming/aa/half.mp4',
    '/media/%2eincoming/aa/half.mp4',
    '/media/../secret.txt',
    '/media/ab/../../secret.txt',
    '/media/ab/0123456789/../../../secret.txt',
    '/media/ab/0123456789/..%2f..%2f..%2fsecret.txt',
    '/media/ab/0123456789/%2e%2e%2f%2e%2e%2f%2e%2e%2fsecret.txt',
    '/media/..%2fab/x/secret.txt',
    '/media/%2e%2e/%2e%2e/secret.txt',
    '/media/ab/..%5c..%5c/secret.txt',
    '/media/ab/%252e%252e/secret.txt',
    '/media//etc/passwd',
    '/media/%2fetc/x/passwd',
    '/media/ab/0123456789/video.mp4%00.png',
    '/media/ab/0123456789/%',
    '/media/ab/0123456789/%ff',
    '/media/ab/0123456789/video.mp4%20',
    `/media/ab/0123456789/${'x'.repeat(300)}.mp4`,
    `/media/ab/${'x'.repeat(5_000)}/video.mp4`,
  ];
  for (const path of absent) {
    it(`returns 404 in the envelope for ${path.slice(0, 70)}`, async () => {
      const response: ApiResponse = await sendRawRequest(service.baseUrl, 'GET', path);
      expectError(response, 'not_found');
      expect(response.headers.get('cache-control') ?? '').to.not.include('immutable');
    });
  }

  it('returns 404 with Allow for other methods', async () => {
    for (const method of ['POST', 'PUT', 'DELETE']) {
      const response = await service.request(method, FILE);
      expectError(response, 'not_found');
      expect(response.headers.get('allow')).to.include('GET');
    }
    expect((await get()).text).to.equal(CONTENT);
  });
});
