import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { expect } from 'chai';
import sharp from 'sharp';
import { buildImageUrl } from '../../shared/domain/uploads/uploadAddresses.ts';
import { withReservedName } from '../../shared/gateways/media/tempFiles.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { expectError, UUID } from '../harness/errorEnvelope.ts';
import {
  addUnusedUploads,
  buildImageCatalog,
  createUpload,
  makeImage,
  putFile,
  upload,
} from '../harness/inputImages.ts';
import { eventually, useTestService } from '../harness/testService.ts';

const HOUR_MS = 3_600_000;

async function readError(response: Response): Promise<string> {
  return ((await response.json()) as { error: string }).error;
}

describe('uploads', () => {
  const service = useTestService({ workers: 0, env: { CATALOG: buildImageCatalog() } });
  let customer: TestCustomer;
  let image: Buffer;
  before(async () => {
    image = await makeImage('png', { width: 30, height: 20 });
  });
  beforeEach(async () => {
    service.clockOffsetMs = 0;
    customer = await service.createCustomer('studio');
  });

  const create = (body: object) => customer.request('POST', '/api/uploads/create/', { body });
  const read = (uuid: string, by = customer) => by.request('GET', `/api/uploads/${uuid}/`);

  it('a created upload has an address that receives its file for an hour', async () => {
    const before = Date.now();
    const { status, body } = await create({ content_type: 'image/png', bytes: image.length });
    expect(status).to.equal(201);
    expect(body).to.have.all.keys('uuid', 'upload_url', 'headers', 'expires_at');
    expect(body.uuid).to.match(UUID);
    expect(body.headers).to.deep.equal({ 'content-type': 'image/png' });
    expect(body.upload_url).to.include(`${service.baseUrl}/uploads/${body.uuid}/original?expires=`);
    expect(Date.parse(body.expires_at)).to.be.within(before + HOUR_MS, Date.now() + HOUR_MS);
    const pending = await read(body.uuid);
    expect(pending.status).to.equal(200);
    expect(pending.body).to.include({
      status: 'pending',
      content_type: 'image/png',
      bytes: image.length,
      width: null,
      error: null,
    });
    expect((await putFile(body, image)).status).to.equal(200);
    const ready = await read(body.uuid);
    expect(ready.body).to.include({ status: 'ready', content_type: 'image/png', width: 30, height: 20, error: null });
    expect(Date.parse(ready.body.expires_at)).to.be.within(before + 24 * HOUR_MS, Date.now() + 24 * HOUR_MS);
  });

  for (const [name, body, field] of [
    ['without a size', { content_type: 'image/png' }, 'bytes'],
    ['without a type', { bytes: 10 }, 'content_type'],
    ['of another type', { content_type: 'image/gif', bytes: 10 }, 'content_type'],
    ['of more than 20 MB', { content_type: 'image/png', bytes: 20_000_001 }, 'bytes'],
    ['of no bytes', { content_type: 'image/png', bytes: 0 }, 'bytes'],
    ['with an unknown field', { content_type: 'image/png', bytes: 10, name: 'a' }, 'name'],
  ] as const) {
    it(`an upload ${name} is rejected`, async () => {
      const response = await create(body);
      expectError(response, 'validation_error');
      expect(response.body.detail).to.match(new RegExp(`^${field} `));
    });
  }

  it('an account without a subscription cannot upload', async () => {
    const visitor = await service.createCustomer(null);
    const body = { content_type: 'image/png', bytes: image.length };
    expectError(await visitor.request('POST', '/api/uploads/create/', { body }), 'subscription_required');
  });

  it('the type is determined by the content', async () => {
    const name = await upload(customer, await makeImage('jpeg'), 'image/png');
    expect((await read(name.slice('upload:'.length))).body).to.include({ status: 'ready', content_type: 'image/jpeg' });
  });

  it('a file that is not an image fails, for good', async () => {
    const created = await createUpload(customer, 9);
    await putFile(created, Buffer.from('not a PNG'));
    const { body } = await read(created.uuid);
    expect(body).to.include({ status: 'failed', width: null });
    expect(body.error).to.equal('The image cannot be decoded: it must be an undamaged PNG, JPEG or WebP file.');
    const again = await putFile(created, Buffer.from('not a PNG'));
    expect([again.status, await readError(again)]).to.deep.equal([400, 'validation_error']);
    expect((await read(created.uuid)).body.status).to.equal('failed');
  });

  it('an upload of image/jpg is one of image/jpeg', async () => {
    const file = await makeImage('jpeg');
    const { status, body } = await create({ content_type: 'image/jpg', bytes: file.length });
    expect([status, body.headers]).to.deep.equal([201, { 'content-type': 'image/jpeg' }]);
    expect((await putFile({ ...body, headers: { 'content-type': 'image/jpg' } }, file)).status).to.equal(200);
    expect((await read(body.uuid)).body).to.include({ status: 'ready', content_type: 'image/jpeg' });
  });

  it('a file of another size or type than announced is rejected, and the right one still accepted', async () => {
    const created = await createUpload(customer, image.length);
    for (const [file, headers] of [
      [image.subarray(1), created.headers],
      [Buffer.concat([image, Buffer.from('more')]), created.headers],
      [image, { 'content-type': 'text/html' }],
    ] as const) {
      const response = await putFile({ ...created, headers }, file);
      expect([response.status, await readError(response)]).to.deep.equal([400, 'validation_error']);
    }
    expect((await read(created.uuid)).body.status).to.equal('pending');
    expect((await putFile(created, image)).status).to.equal(200);
    expect((await read(created.uuid)).body.status).to.equal('ready');
  });

  it('a file sent in chunks is limited to the announced size', async () => {
    const created = await createUpload(customer, image.length);
    const send = (file: Uint8Array) => {
      const body = new Blob([file as Uint8Array<ArrayBuffer>]).stream();
      return fetch(created.upload_url, {
        method: 'PUT',
        headers: created.headers,
        body,
        duplex: 'half',
      } as RequestInit);
    };
    expect((await send(Buffer.concat([image, image]))).status).to.equal(400);
    expect((await send(image.subarray(1))).status).to.equal(400);
    expect((await send(image)).status).to.equal(200);
  });

  it('an address that was changed or has expired receives nothing', async () => {
    const created = await createUpload(customer, image.length);
    const other = await createUpload(customer, image.length);
    const url = new URL(created.upload_url);
    const later = new URL(url);
    later.searchParams.set('expires', String(Number(url.searchParams.get('expires')) + 1));
    const unsigned = new URL(url);
    unsigned.searchParams.delete('signature');
    const forged = new URL(url);
    forged.searchParams.set('signature', 'A'.repeat(43));
    const changed = [later, unsigned, forged, created.upload_url.replace(created.uuid, other.uuid)];
    for (const target of changed.map(String)) {
      expect((await putFile({ ...created, upload_url: target }, image)).status, target).to.equal(404);
    }
    expect((await fetch(created.upload_url)).status, 'another method').to.equal(404);
    service.clockOffsetMs = HOUR_MS + 1_000;
    expect((await putFile(created, image)).status).to.equal(404);
  });

  it('pages of other origins can send files', async () => {
    const created = await createUpload(customer, image.length);
    const preflight = await fetch(created.upload_url, {
      method: 'OPTIONS',
      headers: { origin: 'https://app.example', 'access-control-request-method': 'PUT' },
    });
    expect(preflight.status).to.equal(204);
    expect(preflight.headers.get('access-control-allow-methods')).to.include('PUT');
    expect(preflight.headers.get('access-control-allow-headers')).to.include('Content-Type');
    expect((await putFile(created, image)).headers.get('access-control-allow-origin')).to.equal('*');
  });

  it("another account's upload does not exist", async () => {
    const name = await upload(customer, image);
    const stranger = await service.createCustomer(null);
    expectError(await read(name.slice('upload:'.length), stranger), 'not_found');
    expectError(await read(randomUUID()), 'not_found');
    expectError(await read('1'), 'not_found');
  });

  it('a photo is stored without its metadata, and the file as it was sent is deleted', async () => {
    const photo = await sharp(image)
      .withExif({ IFD0: { Copyright: 'Jane Doe' } })
      .jpeg()
      .toBuffer();
    const created = await createUpload(customer, photo.length, 'image/jpeg');
    await putFile(created, photo);
    expect((await read(created.uuid)).body.status).to.equal('ready');
    const [row] = await service.sql('SELECT media_token FROM uploads WHERE uuid = $1', [created.uuid]);
    const hex = row.media_token.replaceAll('-', '');
    const folder = `${service.env['MEDIA_DIR']}/uploads/${hex.slice(0, 2)}/${hex.slice(2)}`;
    expect(await readdir(folder)).to.deep.equal(['image.jpg']);
    expect((await readFile(`${folder}/image.jpg`)).includes('Jane Doe')).to.equal(false);
    // Sending a file may begin just before the address expires, and take ten minutes.
    const deletions = await service.sql(
      `SELECT 1 FROM tasks t, uploads u
        WHERE u.uuid = $1 AND t.kind = 'upload.deleteFiles' AND t.run_at = u.created_at + interval '70 minutes'`,
      [created.uuid],
    );
    expect(deletions).to.have.length(1);
  });

  it('an image is served as an image, without scripts, frames and caches', async () => {
    const uuid = (await upload(customer, image)).slice('upload:'.length);
    expect((await read(uuid)).body.status).to.equal('ready');
    const [row] = await service.sql('SELECT * FROM uploads WHERE uuid = $1', [uuid]);
    const { status, headers } = await fetch(await buildImageUrl(row, new Date(Date.now() + HOUR_MS)));
    expect([status, headers.get('content-type')]).to.deep.equal([200, 'image/png']);
    expect(headers.get('x-content-type-options')).to.equal('nosniff');
    expect(headers.get('content-security-policy')).to.equal("default-src 'none'; sandbox");
    expect(headers.get('cache-control')).to.equal('private, no-store');
  });

  it('reads at the same time decode an upload once or twice, with the same result', async () => {
    const created = await createUpload(customer, image.length);
    await putFile(created, image);
    const responses = await Promise.all(Array.from({ length: 8 }, () => read(created.uuid)));
    for (const { body } of responses) expect(body.status).to.be.oneOf(['ready', 'pending']);
    expect((await read(created.uuid)).body).to.include({ status: 'ready', width: 30 });
  });

  it('an account has at most 200 images of a day that no generation uses, also of requests at the same time', async () => {
    await addUnusedUploads(service, customer, 195);
    const responses = await Promise.all(
      Array.from({ length: 10 }, () => create({ content_type: 'image/png', bytes: 10 })),
    );
    expect(responses.filter(({ status }) => status === 201)).to.have.length(5);
    const [rejected] = responses.filter(({ status }) => status !== 201) as [(typeof responses)[0]];
    expectError(rejected, 'rate_limited');
    expect(Number(rejected.headers.get('retry-after'))).to.be.greaterThan(0);
  });

  it('an account has at most 1,000 MB of images of a day that no generation uses', async () => {
    await addUnusedUploads(service, customer, 50, 19_900_000);
    expectError(await create({ content_type: 'image/png', bytes: 5_000_001 }), 'rate_limited', '1,000 MB');
    await createUpload(customer, 5_000_000);
    expectError(await create({ content_type: 'image/png', bytes: 1 }), 'rate_limited');
  });

  it('the files that arrive at a time are limited, also if their requests begin together', async () => {
    for (const [accounts, accepted] of [
      [1, 8],
      [9, 64],
    ] as const) {
      const endings: (() => void)[] = [];
      const arrive = () => new Promise<void>((resolve) => endings.push(resolve));
      let refused = 0;
      const requests = Array.from({ length: 10 * accounts }, async (_, index) => {
        const account = `${index % accounts}-`;
        if ((await withReservedName(`${account}${index}`, { '': 64, [account]: 8 }, arrive)) === null) refused += 1;
      });
      await eventually('all are decided', async () => endings.length + refused === requests.length);
      for (const end of endings) end();
      await Promise.all(requests);
      expect(endings).to.have.length(accepted);
    }
  });
});

describe('without a model that takes images', () => {
  const service = useTestService({ workers: 0 });

  it('uploads do not exist', async () => {
    const customer = await service.createCustomer(null);
    const body = { content_type: 'image/png', bytes: 10 };
    expectError(await customer.request('POST', '/api/uploads/create/', { body }), 'not_found');
    expectError(await customer.request('GET', `/api/uploads/${randomUUID()}/`), 'not_found');
    expect((await fetch(`${service.baseUrl}/uploads/${randomUUID()}/image.png?expires=1&signature=1`)).status).to.equal(
      404,
    );
  });
});
