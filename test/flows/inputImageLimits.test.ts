import { randomUUID } from 'node:crypto';
import { access, mkdir, readdir, rename, rm, readFile, utimes, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { receiveFile } from '../../shared/domain/uploads/receiveFile.ts';
import { IMAGE_BODY_LIMIT_BYTES } from '../../shared/spec/limits.ts';
import { closeFileServers, type FileServer, startFileServer } from '../fakes/fileServers.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { expectError } from '../harness/errorEnvelope.ts';
import { captureError } from '../harness/expectRejection.ts';
import {
  addUnusedUploads,
  buildImageCatalog,
  createAnimation,
  createEdit,
  createUpload,
  describeImage,
  makeImage,
  putFile,
  upload,
} from '../harness/inputImages.ts';
import { sendRawRequest, sendRequestHead } from '../harness/rawRequest.ts';
import { eventually, startTestService, type TestService } from '../harness/testService.ts';

/** A body that breaks before it is complete. */
async function* breakBody(): AsyncGenerator<Buffer> {
  yield Buffer.from('a part');
  await delay(1);
  throw Object.assign(new Error('aborted'), { code: 'ECONNRESET' });
}

/** Body of a create of more than 64 KB, with an image that cannot be decoded. */
const LARGE_BODY = JSON.stringify({
  model: 'edit',
  prompt: 'brighter',
  params: { images: [`data:image/png;base64,${'A'.repeat(100_000)}`] },
});

describe('limits of input images', () => {
  let service: TestService;
  let customer: TestCustomer;
  let image: Buffer;
  let files: FileServer;
  let openRequests = 0;
  let openRequestsMax = 0;
  before(async () => {
    const env = { CATALOG: buildImageCatalog(), INPUT_IMAGE_ADDRESSES: 'any' };
    service = await startTestService({ env });
    image = await makeImage('png', { width: 30, height: 20 });
    service.upstream.picture = Buffer.from(image);
    files = await startFileServer(({ url = '' }, response) => {
      if (url === '/page') return void response.end('p'.repeat(5_000));
      if (url === '/broken')
        return void response.writeHead(200, { 'content-length': 9_000 }).write('b'.repeat(3_000), () => {
          setTimeout(() => response.destroy(), 200);
        });
      if (url === '/missing') return void response.writeHead(404).end('missing');
      if (url === '/nothing') return void response.end();
      openRequests += 1;
      openRequestsMax = Math.max(openRequests, openRequestsMax);
      setTimeout(() => {
        openRequests -= 1;
        response.end(image);
      }, 100);
    });
  });
  after(async () => {
    closeFileServers();
    await service.stop();
  });
  beforeEach(async () => {
    customer = await service.createCustomer('studio');
  });

  const read = (uuid: string) => customer.request('GET', `/api/uploads/${uuid}/`);
  const update = (change: string) => service.sql(`UPDATE accounts SET ${change} WHERE email = $1`, [customer.email]);
  const countUploads = async () => {
    const rows = await service.sql('SELECT FROM uploads u JOIN accounts a ON a.id = u.account_id WHERE a.email = $1', [
      customer.email,
    ]);
    return rows.length;
  };
  const countWaiting = async () =>
    (await service.sql(`SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%completed%'`))
      .length;

  it('an image that several requests decode at the same time stays what the first one has stored', async () => {
    const other = await makeImage('png', { width: 40, height: 10 });
    const bytes = Math.max(image.length, other.length);
    // The decoder drops bytes after the image.
    const pad = (file: Buffer) => Buffer.concat([file, Buffer.alloc(bytes - file.length)]);
    const created = await createUpload(customer, bytes);
    const client = await service.database.connect();
    await client.query('BEGIN');
    await client.query('SELECT FROM uploads WHERE uuid = $1 FOR UPDATE', [created.uuid]);
    const responses = [];
    for (const file of [image, other]) {
      expect((await putFile(created, pad(file))).status).to.equal(200);
      responses.push(read(created.uuid));
      await eventually('it waits', async () => (await countWaiting()) === responses.length);
    }
    await client.query('COMMIT');
    client.release();
    for (const { body } of await Promise.all(responses)) expect(body).to.include({ status: 'ready', width: 30 });
    const [row] = await service.sql('SELECT media_token FROM uploads WHERE uuid = $1', [created.uuid]);
    const deletions = await service.sql('SELECT FROM tasks WHERE key = $1', [row.media_token]);
    expect(deletions).to.deep.equal([]);
    const hex = row.media_token.replaceAll('-', '');
    const folder = join(service.env['MEDIA_DIR'] as string, 'uploads', hex.slice(0, 2), hex.slice(2));
    expect(await describeImage(await readFile(join(folder, 'image.png')))).to.include({ width: 30, height: 20 });
  });

  for (const [change, undo, code] of [
    ['in_flight = parallel_limit', 'in_flight = 0', 'parallel_limit_reached'],
    [
      'balance = 0, plan_credits = 0, topup_credits = 0',
      'balance = period_granted, plan_credits = period_granted',
      'insufficient_credits',
    ],
  ] as const) {
    it(`nothing is fetched or stored for a request that is ${code}`, async () => {
      await update(change);
      const before = files.requests.length;
      const response = await createEdit(customer, [`${files.url}/${code}.png`]);
      await update(undo);
      expectError(response, code);
      expect(files.requests.slice(before)).to.deep.equal([]);
      expect(await countUploads()).to.equal(0);
    });
  }

  it('the image of a generation that was deleted cannot be used, also if it was used before', async () => {
    const { body } = await createEdit(customer, undefined);
    await customer.waitForEnd(body.uuid);
    const reference = { first_frame: `generation:${body.uuid}` };
    expect((await createAnimation(customer, reference)).status).to.equal(201);
    await customer.request('DELETE', `/api/generations/${body.uuid}/`);
    expectError(await createAnimation(customer, reference), 'validation_error', 'names no generation of this account');
  });

  it('what an address sends counts also if it is no image, and nothing is fetched beyond the limit of a day', async () => {
    const rejectEdit = (path: string) => createEdit(customer, [`${files.url}/${path}`]);
    for (const path of ['page', 'broken', 'missing', 'nothing'])
      expectError(await rejectEdit(path), 'validation_error', 'params.images.0');
    const counted = await service.sql(
      'SELECT status, bytes FROM uploads JOIN accounts a ON a.id = account_id WHERE email = $1 ORDER BY uploads.created_at',
      [customer.email],
    );
    expect(counted).to.deep.equal([
      { status: 'failed', bytes: 5_000 },
      { status: 'failed', bytes: 3_000 },
      { status: 'failed', bytes: 1 },
    ]);
    await addUnusedUploads(service, customer, 49, 20_000_000);
    const before = files.requests.length;
    expectError(await rejectEdit('1.png'), 'rate_limited');
    expect(files.requests.slice(before)).to.deep.equal([]);
  });

  it('a process prepares three images of an account at a time', async () => {
    openRequestsMax = 0;
    const responses = await Promise.all(
      [1, 2, 3, 4].map((index) => createEdit(customer, Array(3).fill(`${files.url}/${index}.png`))),
    );
    for (const { status, body } of responses)
      expect(status === 201 || body.error === 'parallel_limit_reached', JSON.stringify(body)).to.equal(true);
    expect(openRequestsMax).to.equal(3);
  });

  /** Opens creates whose bodies stop before their last byte. */
  const openUnfinished = async (sender: TestCustomer, count: number, bytes = LARGE_BODY.length) => {
    const headers = { 'x-api-key': sender.key, 'content-length': String(bytes) };
    const requests = await Promise.all(
      Array.from({ length: count }, () =>
        sendRequestHead(service.baseUrl, 'POST', '/api/generations/create/', headers),
      ),
    );
    for (const request of requests) request.end(LARGE_BODY.slice(0, -1));
    return requests;
  };
  const sendLarge = () =>
    customer.request('POST', '/api/generations/create/', { body: JSON.parse(LARGE_BODY) as object });

  it('an account sends three large bodies at a time', async () => {
    const open = await openUnfinished(customer, 4);
    expect(await Promise.race(open.map(({ reply }) => reply))).to.match(/^HTTP\/1\.1 429 /);
    expectError(await sendLarge(), 'rate_limited', 'upload the images instead');
    expect((await createEdit(customer, undefined)).status).to.equal(201);
    for (const request of open) request.end('}');
    const statuses = await Promise.all(open.map(async ({ reply }) => (await reply).split(' ')[1]));
    expect(statuses).to.have.members(['400', '400', '400', '429']);
  });

  it('large bodies that do not arrive keep no other account out: the oldest of them are rejected', async () => {
    const others = await Promise.all(Array.from({ length: 6 }, () => service.createCustomer('studio')));
    const open = [];
    for (const other of others) open.push(...(await openUnfinished(other, 3)));
    expectError(await sendLarge(), 'validation_error', 'params.images');
    expect(await Promise.race(open.slice(0, 3).map(({ reply }) => reply))).to.match(/^HTTP\/1\.1 429 /);
    for (const request of open) request.end('}');
    await Promise.all(open.map(({ reply }) => reply));
  });

  it('large bodies that arrive are rejected of the accounts with the most of them, also if others are older', async () => {
    const [slow, ...others] = await Promise.all(Array.from({ length: 7 }, () => service.createCustomer('studio')));
    const [oldest] = await openUnfinished(slow as TestCustomer, 1);
    const open = [];
    for (const other of others) open.push(...(await openUnfinished(other, 3)));
    expect(await Promise.race(open.map(({ reply }) => reply))).to.match(/^HTTP\/1\.1 429 /);
    const [largest] = await openUnfinished(customer, 1, IMAGE_BODY_LIMIT_BYTES);
    expect(await largest?.reply).to.match(/^HTTP\/1\.1 429 /);
    oldest?.end('}');
    expect(await oldest?.reply).to.match(/^HTTP\/1\.1 400 /);
    for (const request of open) request.end('}');
    await Promise.all(open.map(({ reply }) => reply));
  });

  it('large bodies that wait for images at addresses leave room for other accounts', async () => {
    const waiting: ServerResponse[] = [];
    const slow = await startFileServer((_request, response) => void waiting.push(response));
    // The decoder drops bytes after the image.
    const padded = Buffer.concat([image, Buffer.alloc(4_490_000)]).toString('base64');
    const send = (sender: TestCustomer) =>
      Array.from({ length: 3 }, () => createEdit(sender, [`data:image/png;base64,${padded}`, `${slow.url}/image.png`]));
    const [first, second] = [await service.createCustomer('studio'), await service.createCustomer('studio')];
    const responses = send(first);
    await eventually('the first three wait', () => waiting.length === 3);
    responses.push(...send(second));
    await eventually('one more waits', () => waiting.length === 4);
    expectError(await sendLarge(), 'validation_error', 'params.images');
    for (const response of waiting) response.end(image);
    const rejected = (await Promise.all(responses)).filter(({ body }) => body.error === 'rate_limited');
    expect(rejected).to.have.length(2);
  });

  it('a large body needs a plan before it is read', async () => {
    const visitor = await service.createCustomer(null);
    const [unfinished] = await openUnfinished(visitor, 1);
    expect(await unfinished?.reply)
      .to.match(/^HTTP\/1\.1 402 /)
      .and.to.include('subscription_required');
  });

  const send = (headers: Record<string, string>, body: string | Uint8Array) =>
    sendRawRequest(service.baseUrl, 'POST', '/api/generations/create/', {
      headers: { 'x-api-key': customer.key, 'content-type': 'application/json', ...headers },
      body,
    });

  it('a body of more than 64 KB needs a Content-Length and no Content-Encoding', async () => {
    expectError(await send({ 'transfer-encoding': 'chunked' }, LARGE_BODY), 'validation_error', 'bytes', 413);
    const packed = gzipSync(LARGE_BODY);
    const headers = { 'content-encoding': 'gzip', 'content-length': String(packed.length) };
    expectError(await send(headers, packed), 'validation_error', 'bytes', 413);
  });

  it('a file or its decoding is 503 while the disk cannot be written', async () => {
    const created = await createUpload(customer, image.length);
    const sent = (await upload(customer, image)).slice('upload:'.length);
    const folder = join(service.env['MEDIA_DIR'] as string, '.incoming');
    await rename(folder, `${folder}-away`);
    await writeFile(folder, 'not a folder');
    const [put, get] = [await putFile(created, image), await read(sent)];
    await rm(folder);
    await rename(`${folder}-away`, folder);
    expect([put.status, get.status]).to.deep.equal([503, 503]);
    expect([put.headers.get('retry-after'), get.headers.get('retry-after')]).to.deep.equal(['5', '5']);
    expect((await putFile(created, image)).status).to.equal(200);
    for (const uuid of [created.uuid, sent]) expect((await read(uuid)).body.status).to.equal('ready');
  });

  it('an image that could not be stored counts as what its address has sent', async () => {
    const folder = join(service.env['MEDIA_DIR'] as string, 'uploads');
    await mkdir(folder, { recursive: true });
    await rename(folder, `${folder}-away`);
    await writeFile(folder, 'not a folder');
    const response = await createEdit(customer, [`${files.url}/1.png`]);
    await rm(folder);
    await rename(`${folder}-away`, folder);
    expectError(response, 'internal_error', 'temporarily unavailable', 503);
    const counted = await service.sql(
      'SELECT status, bytes FROM uploads JOIN accounts a ON a.id = account_id WHERE email = $1',
      [customer.email],
    );
    expect(counted).to.deep.equal([{ status: 'failed', bytes: image.length }]);
  });

  const countArriving = async () => {
    const names = await readdir(join(service.env['MEDIA_DIR'] as string, '.incoming'));
    return names.filter((name) => name.startsWith('upload-')).length;
  };

  it('an upload receives its file from one request at a time', async () => {
    const created = await createUpload(customer, image.length);
    const { pathname, search } = new URL(created.upload_url);
    const headers = { ...created.headers, 'content-length': String(image.length) };
    const slow = await sendRequestHead(service.baseUrl, 'PUT', pathname + search, headers);
    slow.end(image.subarray(0, 10));
    await eventually('the first request is received', async () => (await countArriving()) === 1);
    const second = await putFile(created, image);
    expect([second.status, second.headers.get('retry-after')]).to.deep.equal([429, '5']);
    slow.end(image.subarray(10));
    expect(await slow.reply).to.match(/^HTTP\/1\.1 200 /);
    expect((await putFile(created, image)).status).to.equal(200);
  });

  it('an account sends the files of eight uploads at a time', async () => {
    const uploads = await Promise.all(Array.from({ length: 9 }, () => createUpload(customer, image.length)));
    const open = await Promise.all(
      uploads.slice(0, 8).map(async ({ upload_url: url, headers }) => {
        const { pathname, search } = new URL(url);
        const length = { 'content-length': String(image.length) };
        return sendRequestHead(service.baseUrl, 'PUT', pathname + search, { ...headers, ...length });
      }),
    );
    const last = uploads[8] as (typeof uploads)[0];
    await eventually('eight are received', async () => (await countArriving()) === 8);
    expect((await putFile(last, image)).status).to.equal(429);
    for (const request of open) request.end(image);
    for (const { reply } of open) expect(await reply).to.match(/^HTTP\/1\.1 200 /);
    expect((await putFile(last, image)).status).to.equal(200);
  });

  it('files of test accounts leave places for those of others', async () => {
    const others = await Promise.all(Array.from({ length: 5 }, () => service.createCustomer(null)));
    const uploads = await service.sql<{ uuid: string }>(
      `WITH tests AS (
         INSERT INTO accounts (uuid, live_account_id, email, social_provider, onboarding_step, parallel_limit, created_at)
         SELECT gen_random_uuid(), id, 'test-mode:' || uuid, 'test', 'complete', 4, now() FROM accounts
          WHERE email = ANY ($1) RETURNING id)
       INSERT INTO uploads (uuid, account_id, source, status, content_type, bytes, created_at, expires_at)
       SELECT gen_random_uuid(), id, 'upload', 'pending', 'image/png', 1, now(), now() + interval '1 day'
         FROM tests, generate_series(1, 5) RETURNING uuid`,
      [others.map(({ email }) => email)],
    );
    const ends: (() => void)[] = [];
    const ended = new Promise<void>((resolve) => ends.push(resolve));
    const body = async function* () {
      await ended;
      yield Buffer.from('x');
    };
    const file = () => ({ contentType: 'image/png', length: 1, body: body() });
    const received = Promise.allSettled(uploads.map(({ uuid }) => receiveFile(uuid, file())));
    await eventually('their places are taken', async () => (await countArriving()) === 16);
    const created = await createUpload(customer, image.length);
    expect((await putFile(created, image)).status).to.equal(200);
    for (const end of ends) end();
    expect((await received).filter(({ status }) => status === 'fulfilled')).to.have.length(16);
  });

  it('images that cannot be decoded count towards the images of a day', async () => {
    const broken = Buffer.concat([image.subarray(0, 40), Buffer.alloc(40)]);
    const reference = `data:image/png;base64,${broken.toString('base64')}`;
    await addUnusedUploads(service, customer, 199);
    for (let attempt = 0; attempt < 2; attempt += 1)
      expectError(await createEdit(customer, [reference]), 'validation_error', 'cannot be decoded');
    expect(await countUploads()).to.equal(200);
    const other = `data:image/png;base64,${Buffer.concat([broken, Buffer.alloc(1)]).toString('base64')}`;
    expectError(await createEdit(customer, [other]), 'rate_limited', '200 images');
  });

  it('a client that disconnects is not a fault of the service', async () => {
    const { uuid } = await createUpload(customer, 100);
    const file = { contentType: 'image/png', length: 100, body: breakBody() };
    const error = await captureError(receiveFile(uuid, file));
    expect(error).to.include({ code: 'validation_error' });
    expect(error.message).to.include('ended before the whole file had arrived');
  });

  it('temporary files of a process that died are deleted when an API process starts', async () => {
    const folder = join(service.env['MEDIA_DIR'] as string, '.incoming');
    await mkdir(folder, { recursive: true });
    const [stale, recent] = [join(folder, randomUUID()), join(folder, randomUUID())];
    await Promise.all([stale, recent].map((file) => writeFile(file, 'x')));
    await utimes(stale, 1, 1);
    await service.startApi({});
    expect((await captureError(access(stale))).message).to.include('ENOENT');
    await access(recent);
    await rm(recent);
  });
});
