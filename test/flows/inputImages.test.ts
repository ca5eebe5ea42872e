import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import sharp from 'sharp';
import { eraseAccount } from '../../shared/domain/privacy/erase.ts';
import { expireUploads } from '../../shared/domain/uploads/expireUploads.ts';
import { startSampleUpstream, type SampleUpstream } from '../../dev/sampleUpstream/server.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { expectError } from '../harness/errorEnvelope.ts';
import {
  addUnusedUploads,
  buildImageCatalog,
  createAnimation,
  createEdit,
  describeImage,
  getLastInput,
  makeImage,
  upload,
} from '../harness/inputImages.ts';
import { runAdminHere } from '../harness/adminCommand.ts';
import { eventually, startTestService, type TestService, useTestService } from '../harness/testService.ts';
import { deleteDueUploadFiles } from '../harness/tasks.ts';

const TEAL = [0, 128, 128];
const RED = [255, 0, 0];
const HOUR_MS = 3_600_000;

const getUuid = (name: string) => name.slice('upload:'.length);

/** Runs the sweep at once, which otherwise runs every minute. */
async function sweep(): Promise<void> {
  await expireUploads();
  await deleteDueUploadFiles();
}

describe('input images', () => {
  const service = useTestService({ env: { CATALOG: buildImageCatalog() } });
  let customer: TestCustomer;
  before(async () => {
    service.upstream.picture = Buffer.from(await makeImage());
  });
  beforeEach(async () => {
    service.clockOffsetMs = 0;
    service.upstream.reset();
    service.upstream.picture = Buffer.from(await makeImage());
    customer = await service.createCustomer('studio');
  });

  const readUploadRow = async (uuid: string) => (await service.sql('SELECT * FROM uploads WHERE uuid = $1', [uuid]))[0];
  const hasExpired = async (uuid: string) => (await readUploadRow(uuid)) === undefined;
  /** The worker of the service may have claimed the deletion before the test's sweep. */
  const waitUntilDeleted = (token: string) => eventually('the files are deleted', async () => !(await hasFiles(token)));
  async function hasFiles(token: string): Promise<boolean> {
    const hex = token.replaceAll('-', '');
    const folder = join(service.env['MEDIA_DIR'] as string, 'uploads', hex.slice(0, 2), hex.slice(2));
    return access(folder).then(
      () => true,
      () => false,
    );
  }

  it('are uploaded, and read by the upstream at an address that expires', async () => {
    const photo = await sharp(await makeImage('jpeg', { width: 64, height: 48 }))
      .withExif({ IFD0: { Copyright: 'Jane Doe' } })
      .toBuffer();
    const name = await upload(customer, photo, 'image/jpeg');
    const created = await createAnimation(customer, { first_frame: name });
    expect(created.status, JSON.stringify(created.body)).to.equal(201);
    expect(created.body.params.first_frame).to.equal(name);
    expect(await customer.waitForEnd(created.body.uuid)).to.include({ status: 'succeeded' });
    const { image_url: url = '', ...input } = getLastInput(service);
    expect(input).to.not.have.any.keys('first_frame', 'end', 'end_image_url');
    const response = await fetch(url);
    expect([response.status, response.headers.get('content-type')]).to.deep.equal([200, 'image/jpeg']);
    expect(response.headers.get('cache-control')).to.equal('private, no-store');
    const content = Buffer.from(await response.arrayBuffer());
    expect(content.includes('Jane Doe')).to.equal(false);
    expect(await describeImage(content)).to.deep.include({ width: 64, height: 48 });
    expect((await fetch(url.replace('image.jpg', 'image.png'))).status).to.equal(404);
    expect((await fetch(url, { method: 'PUT', body: 'x' })).status).to.equal(404);
    service.clockOffsetMs = HOUR_MS;
    expect((await fetch(url)).status).to.equal(404);
  });

  it('of several roles are sent in their fields, and none where there is none', async () => {
    const [first, last] = [
      await upload(customer, await makeImage()),
      await upload(customer, await makeImage('png', { background: 'red' })),
    ];
    const { body: video } = await createAnimation(customer, { first_frame: first, end: last });
    const { body: edit } = await createEdit(customer, [first, last]);
    const { body: plain } = await createEdit(customer, undefined);
    for (const { uuid } of [video, edit, plain]) await customer.waitForEnd(uuid);
    const inputs = service.upstream.jobs.slice(-3).map(({ input }) => input as Record<string, any>);
    const videoInput = inputs.find((input) => 'duration' in input) ?? {};
    const editInput = inputs.find((input) => 'image_urls' in input) ?? {};
    const urls = [videoInput['image_url'], videoInput['end_image_url'], ...editInput['image_urls']];
    const images = await Promise.all(urls.map(async (url) => Buffer.from(await (await fetch(url)).arrayBuffer())));
    const pixels = await Promise.all(images.map(async (image) => (await describeImage(image)).pixel));
    expect(pixels).to.deep.equal([TEAL, RED, TEAL, RED]);
    expect(inputs.filter((input) => 'image_urls' in input || 'image_url' in input)).to.have.length(2);
  });

  it('that cannot be read for a moment delay the submit, which does not count as unconfirmed', async () => {
    const name = await upload(customer, await makeImage());
    service.upstream.submit = 'busy';
    const { uuid } = (await createAnimation(customer, { first_frame: name })).body;
    const readRow = async () => (await service.sql('SELECT * FROM generations WHERE uuid = $1', [uuid]))[0];
    await eventually('claimed and released', async () => {
      const { leased_until: until, submit_started_at: startedAt } = await readRow();
      return until !== null && startedAt === null;
    });
    await service.sql('ALTER TABLE uploads RENAME COLUMN content_type TO type');
    try {
      const { leased_until: earlier } = await readRow();
      await eventually('claimed and released', async () => {
        const { leased_until: until, submit_started_at: startedAt } = await readRow();
        return until > earlier && startedAt === null;
      });
      service.upstream.submit = undefined;
      await service.sql('ALTER TABLE uploads RENAME COLUMN type TO content_type');
      expect((await customer.waitForEnd(uuid)).status).to.equal('succeeded');
      expect((await readRow()).unconfirmed_submits).to.equal(0);
    } finally {
      await service.sql(
        `DO $$ BEGIN ALTER TABLE uploads RENAME COLUMN type TO content_type; EXCEPTION WHEN undefined_column THEN END $$`,
      );
    }
  });

  it('are deleted a day after their last use, with their files', async () => {
    const uuid = getUuid(await upload(customer, await makeImage()));
    expect((await customer.request('GET', `/api/uploads/${uuid}/`)).body.status).to.equal('ready');
    const { media_token: token } = await readUploadRow(uuid);
    expect(await hasFiles(token)).to.equal(true);
    service.clockOffsetMs = 23 * HOUR_MS;
    await sweep();
    expect(await hasExpired(uuid)).to.equal(false);
    service.clockOffsetMs = 24 * HOUR_MS + 60_000;
    await sweep();
    expect(await hasExpired(uuid)).to.equal(true);
    await waitUntilDeleted(token);
    expect((await customer.request('GET', `/api/uploads/${uuid}/`)).status).to.equal(404);
    const response = await createAnimation(customer, { first_frame: `upload:${uuid}` });
    expect(response.body.detail).to.include('It may have expired');
  });

  it('of a generation are kept until it is deleted', async () => {
    const name = await upload(customer, await makeImage());
    const { body } = await createAnimation(customer, { first_frame: name });
    await customer.waitForEnd(body.uuid);
    const uuid = getUuid(name);
    const { media_token: token } = await readUploadRow(uuid);
    for (const days of [2, 4, 6]) {
      service.clockOffsetMs = days * 24 * HOUR_MS;
      await sweep();
      expect(await hasExpired(uuid), `after ${days} days`).to.equal(false);
    }
    await customer.request('DELETE', `/api/generations/${body.uuid}/`);
    service.clockOffsetMs = 8 * 24 * HOUR_MS;
    await sweep();
    expect(await hasExpired(uuid)).to.equal(true);
    await waitUntilDeleted(token);
    expect(await service.sql('SELECT FROM generation_inputs WHERE upload_uuid = $1', [uuid])).to.deep.equal([]);
  });

  it('of generations that failed are deleted like unused ones, and count as such', async () => {
    const name = await upload(customer, await makeImage());
    service.upstream.submit = 'refuse';
    const { body } = await createAnimation(customer, { first_frame: name });
    expect(await customer.waitForEnd(body.uuid)).to.include({ status: 'failed' });
    await addUnusedUploads(service, customer, 199);
    const request = { body: { content_type: 'image/png', bytes: 10 } };
    expectError(await customer.request('POST', '/api/uploads/create/', request), 'rate_limited', '200 images');
    service.clockOffsetMs = 24 * HOUR_MS + 60_000;
    await sweep();
    expect(await hasExpired(getUuid(name))).to.equal(true);
  });

  it('are deleted after two days, also if generations that fail use them', async () => {
    const name = await upload(customer, await makeImage());
    service.upstream.submit = 'refuse';
    await service.sql(
      `UPDATE uploads SET created_at = now() - interval '47 hours', expires_at = now() + interval '5 minutes' WHERE uuid = $1`,
      [getUuid(name)],
    );
    const { body } = await createAnimation(customer, { first_frame: name });
    expect(await customer.waitForEnd(body.uuid)).to.include({ status: 'failed' });
    service.clockOffsetMs = HOUR_MS / 2;
    await sweep();
    expect(await hasExpired(getUuid(name))).to.equal(false);
    service.clockOffsetMs = HOUR_MS + 60_000;
    await sweep();
    expect(await hasExpired(getUuid(name))).to.equal(true);
  });

  it('of a deleted generation are kept while it is queued, also past a day', async () => {
    service.upstream.submit = 'busy';
    const name = await upload(customer, await makeImage());
    const { body } = await createAnimation(customer, { first_frame: name });
    await customer.request('DELETE', `/api/generations/${body.uuid}/`);
    await service.sql(`UPDATE uploads SET expires_at = now() - interval '1 minute' WHERE uuid = $1`, [getUuid(name)]);
    await sweep();
    expect(await hasExpired(getUuid(name))).to.equal(false);
    const before = service.upstream.jobs.length;
    service.upstream.submit = undefined;
    await eventually('it is submitted', () => service.upstream.jobs.length > before);
    const url = getLastInput(service)['image_url'] as string;
    expect((await fetch(url)).status).to.equal(200);
  });

  it('are never deleted while a charge refers to them', async () => {
    const names = await Promise.all(Array.from({ length: 4 }, async () => upload(customer, await makeImage())));
    const uuids = names.map(getUuid);
    for (let round = 0; round < 5; round += 1) {
      await service.sql(`UPDATE uploads SET expires_at = now() - interval '1 minute' WHERE uuid = ANY ($1)`, [uuids]);
      const creates = names.map((name) => createEdit(customer, [name]));
      const sweeps = [sweep(), sleep(round * 3).then(sweep), sleep(round * 7).then(sweep)];
      const responses = await Promise.all(creates);
      await Promise.all(sweeps);
      for (const { status, body } of responses) {
        if (status !== 201) {
          expect(body.error, JSON.stringify(body)).to.be.oneOf(['validation_error', 'parallel_limit_reached']);
          continue;
        }
        const rows = await service.sql(
          `SELECT u.uuid FROM generation_inputs i JOIN uploads u ON u.uuid = i.upload_uuid WHERE i.generation_uuid = $1`,
          [body.uuid],
        );
        expect(rows).to.have.length(1);
        expect(await customer.waitForEnd(body.uuid)).to.include({ status: 'succeeded' });
      }
    }
  });

  it('that disappeared make the generation fail and be refunded', async () => {
    service.upstream.submit = 'busy';
    const submits = service.upstream.submits;
    const name = await upload(customer, await makeImage());
    const { body } = await createAnimation(customer, { first_frame: name });
    // The images are read before each submit: the next one is a second later.
    await eventually('submitted', () => service.upstream.submits > submits);
    await service.sql('DELETE FROM generation_inputs WHERE generation_uuid = $1', [body.uuid]);
    service.upstream.submit = undefined;
    const ended = await customer.waitForEnd(body.uuid);
    expect(ended).to.include({
      status: 'failed',
      error_message: 'An input image of this generation is no longer available.',
    });
    expect((await customer.ledger()).slice(-2)).to.deep.equal([
      ['burn', -35],
      ['refund', 35],
    ]);
  });

  it('are exported with the account, and erased with it', async () => {
    const name = await upload(customer, await makeImage());
    const { body } = await createAnimation(customer, { first_frame: name });
    await customer.waitForEnd(body.uuid);
    const { media_token: token } = await readUploadRow(getUuid(name));
    const exported = JSON.parse(await runAdminHere('export-account', customer.email));
    expect(exported.uploads).to.have.length(1);
    expect(exported.uploads[0])
      .to.include({ uuid: getUuid(name), status: 'ready' })
      .and.not.have.property('media_token');
    expect(exported.generation_inputs).to.deep.equal([
      { generation_uuid: body.uuid, role: 'first_frame', position: 0, upload_uuid: getUuid(name) },
    ]);
    const [{ id }] = await service.sql('SELECT id FROM accounts WHERE email = $1', [customer.email]);
    await eraseAccount(Number(id));
    expect(await hasExpired(getUuid(name))).to.equal(true);
    expect(await service.sql('SELECT FROM generation_inputs WHERE account_id = $1', [id])).to.deep.equal([]);
    // A client could begin to send a file until its address expires, and continue for ten minutes.
    service.clockOffsetMs = HOUR_MS + 11 * 60_000;
    await sweep();
    await waitUntilDeleted(token);
  });
});

describe('the sample upstream', () => {
  let upstream: SampleUpstream;
  let service: TestService;
  before(async () => {
    upstream = await startSampleUpstream({ delayMs: 0 });
    const env = { CATALOG: buildImageCatalog(), FAL_BASE_URL: upstream.url };
    service = await startTestService({ env });
  });
  after(async () => {
    await service.stop();
    await upstream.stop();
  });

  it('draws the images into its output', async () => {
    const customer = await service.createCustomer('studio');
    const name = await upload(customer, await makeImage('png', { width: 300, height: 300, background: 'red' }));
    const { body } = await createEdit(customer, [name]);
    const { status, output_url: url } = await customer.waitForEnd(body.uuid, 60_000);
    expect(status).to.equal('succeeded');
    const output = Buffer.from(await (await fetch(url)).arrayBuffer());
    const corner = await sharp(output)
      .extract({ left: 20, top: 20, width: 1, height: 1 })
      .removeAlpha()
      .raw()
      .toBuffer();
    expect([...corner]).to.deep.equal([255, 0, 0]);
  });
});
