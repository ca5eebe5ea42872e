import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { closeFileServers, type FileServer, startFileServer } from '../fakes/fileServers.ts';
import { FakeModerationService } from '../fakes/moderationService.ts';
import type { ApiResponse, TestCustomer } from '../harness/apiClient.ts';
import { expectError, UUID } from '../harness/errorEnvelope.ts';
import {
  buildImageCatalog,
  createAnimation,
  createEdit,
  createUpload,
  makeImage,
  putFile,
  upload,
} from '../harness/inputImages.ts';
import { connectMcpClient } from '../harness/mcpClient.ts';
import { startTestService, type TestService } from '../harness/testService.ts';

const dataUrl = (image: Buffer) => `data:image/png;base64,${image.toString('base64')}`;

describe('creating a generation from images', () => {
  const hook = new FakeModerationService();
  let service: TestService;
  let customer: TestCustomer;
  let image: Buffer;
  let files: FileServer;
  before(async () => {
    await hook.start();
    const env = { CATALOG: buildImageCatalog(), INPUT_IMAGE_ADDRESSES: 'any', MODERATION_URL: hook.url };
    service = await startTestService({ env });
    image = await makeImage('png', { width: 30, height: 20 });
    service.upstream.picture = Buffer.from(await makeImage('png', { width: 10, height: 12 }));
    files = await startFileServer((request, response) => {
      if (request.url === '/missing.png') response.writeHead(404).end();
      else response.end(request.url === '/page.html' ? '<html>' : image);
    });
  });
  after(async () => {
    closeFileServers();
    await service.stop();
    await hook.stop();
  });
  beforeEach(async () => {
    customer = await service.createCustomer('studio');
  });

  /** Rows that the charge of a generation wrote, with the sizes of their images. */
  const listInputs = (uuid: string) =>
    service.sql(
      `SELECT i.role, i.position, u.source, u.status, u.width, u.height
         FROM generation_inputs i JOIN uploads u ON u.uuid = i.upload_uuid
        WHERE i.generation_uuid = $1 ORDER BY i.role, i.position`,
      [uuid],
    );
  const countGenerations = async () => (await customer.request('GET', '/api/generations/')).body.pagination.total_items;

  async function expectInvalid(response: ApiResponse, mentions: string): Promise<void> {
    expectError(response, 'validation_error', mentions);
    expect(await countGenerations()).to.equal(0);
    expect((await customer.ledger()).map(([type]) => type)).to.not.include('burn');
  }

  it('takes uploads by their roles', async () => {
    const [first, last] = [
      await upload(customer, image),
      await upload(customer, await makeImage('jpeg'), 'image/jpeg'),
    ];
    const { status, body } = await createAnimation(customer, { first_frame: first, end: last });
    expect(status, JSON.stringify(body)).to.equal(201);
    expect(body).to.include({ model: 'animate', status: 'queued', credits_charged: 35 });
    expect(body.params).to.include({ first_frame: first, end: last });
    expect(await listInputs(body.uuid)).to.deep.equal([
      { role: 'first_frame', position: 0, source: 'upload', status: 'ready', width: 30, height: 20 },
      { role: 'last_frame', position: 0, source: 'upload', status: 'ready', width: 64, height: 48 },
    ]);
  });

  it('takes a mask beside references', async () => {
    const images = [await upload(customer, image)];
    const mask = await upload(customer, image);
    const { status, body } = await customer.createGeneration({
      model: 'edit',
      params: { images, mask },
      prompt: 'brighter',
    });
    expect(status, JSON.stringify(body)).to.equal(201);
    expect((await listInputs(body.uuid)).map(({ role }) => role)).to.have.members(['reference', 'mask']);
    expect((await customer.waitForEnd(body.uuid)).status).to.equal('succeeded');
    const { image_urls: urls, mask_url: url } = service.upstream.jobs.at(-1)!.input as Record<string, unknown>;
    expect([(urls as string[]).length, typeof url]).to.deep.equal([1, 'string']);
  });

  it('takes addresses, data and images of the account in a list', async () => {
    const edit = await createEdit(customer, undefined);
    expect(edit.status, JSON.stringify(edit.body)).to.equal(201);
    await customer.waitForEnd(edit.body.uuid);
    const images = [`${files.url}/a.png`, dataUrl(image), `generation:${edit.body.uuid}`];
    const { status, body } = await createEdit(customer, images);
    expect(status, JSON.stringify(body)).to.equal(201);
    expect(body.params.images[0]).to.equal(images[0]);
    expect(body.params.images[1]).to.match(/^upload:/);
    expect(body.params.images[2]).to.equal(images[2]);
    const rows = await listInputs(body.uuid);
    expect(rows.map(({ role, position, source, width }) => [role, position, source, width])).to.deep.equal([
      ['reference', 0, 'url', 30],
      ['reference', 1, 'data', 30],
      ['reference', 2, 'generation', 10],
    ]);
    const shown = (await customer.readGeneration(body.uuid)).body;
    expect(shown.params).to.deep.equal(body.params);
    const data = await customer.request('GET', `/api/uploads/${body.params.images[1].slice('upload:'.length)}/`);
    expect(data.body).to.include({ status: 'ready', width: 30 });
  });

  it('uses the same data again without storing it twice', async () => {
    const [one, other] = [await createEdit(customer, [dataUrl(image)]), await createEdit(customer, [dataUrl(image)])];
    expect(one.body.params.images).to.deep.equal(other.body.params.images);
    expect(one.body.params.images[0].slice('upload:'.length)).to.match(UUID);
    const [{ count }] = await service.sql(
      `SELECT cast(count(*) AS int) FROM uploads u JOIN accounts a ON a.id = u.account_id WHERE a.email = $1`,
      [customer.email],
    );
    expect(count).to.equal(1);
    const stranger = await service.createCustomer('studio');
    const theirs = await createEdit(stranger, [dataUrl(image)]);
    expect(theirs.body.params.images).to.not.deep.equal(one.body.params.images);
  });

  for (const [name, build, mentions] of [
    ['an unknown upload', () => `upload:${randomUUID()}`, 'params.first_frame names no upload of this account'],
    ['an unknown generation', () => `generation:${randomUUID()}`, 'params.first_frame names no generation'],
    [
      'an address that returns 404',
      () => `${files.url}/missing.png`,
      "params.first_frame: The image's address returned",
    ],
    ['an address of a page', () => `${files.url}/page.html`, 'params.first_frame: The image cannot be decoded'],
    [
      'data that is not an image',
      () => dataUrl(Buffer.from('text')),
      'params.first_frame: The image cannot be decoded',
    ],
    ['a file name', () => 'photo.png', 'params.first_frame must be "upload:<uuid>"'],
    ['a list', () => ['upload:x'], 'params.first_frame must be a string'],
    ['a NUL', () => `${files.url}/image.png?\u0000`, 'params.first_frame must be Unicode text'],
    ['half a surrogate pair', () => `${files.url}/image.png?\ud800`, 'params.first_frame must be Unicode text'],
    ['no image', () => undefined, 'params.first_frame is required'],
  ] as const) {
    it(`rejects ${name}, and charges nothing`, async () => {
      await expectInvalid(await createAnimation(customer, { first_frame: build() }), mentions);
    });
  }

  it('rejects an upload without a file, with a file that is no image, and of another account', async () => {
    const empty = await createUpload(customer, 10);
    const waiting = await createAnimation(customer, { first_frame: `upload:${empty.uuid}` });
    await expectInvalid(waiting, 'names an upload whose file has not arrived');
    await putFile(empty, Buffer.from('not a PNG.'));
    const invalid = await createAnimation(customer, { first_frame: `upload:${empty.uuid}` });
    await expectInvalid(invalid, 'params.first_frame: The image cannot be decoded');
    const stranger = await service.createCustomer('studio');
    const foreign = await upload(stranger, image);
    await expectInvalid(await createAnimation(customer, { first_frame: foreign }), 'names no upload of this account');
  });

  it('rejects a generation that is queued, failed, a video, deleted, or of another account', async () => {
    const stranger = await service.createCustomer('studio');
    const { body: theirs } = await createEdit(stranger, undefined);
    await stranger.waitForEnd(theirs.uuid);
    await expectInvalid(
      await createAnimation(customer, { first_frame: `generation:${theirs.uuid}` }),
      'names no generation',
    );
    const first = await upload(customer, image);
    const video = (await createAnimation(customer, { first_frame: first })).body;
    await customer.waitForEnd(video.uuid);
    const attempt = async (uuid: string) =>
      (await createAnimation(customer, { first_frame: `generation:${uuid}` })).body.detail;
    expect(await attempt(video.uuid)).to.include('names a video');
    service.upstream.outcome = 'wait';
    const queued = (await createEdit(customer, undefined)).body;
    expect(await attempt(queued.uuid)).to.include('names a generation that is queued');
    service.upstream.outcome = 'succeed';
    service.upstream.end('brighter', 'failed');
    await customer.waitForEnd(queued.uuid);
    const { body: deleted } = await createEdit(customer, undefined);
    await customer.waitForEnd(deleted.uuid);
    await customer.request('DELETE', `/api/generations/${deleted.uuid}/`);
    expect(await attempt(deleted.uuid)).to.include('names no generation');
  });

  it('rejects more images than the model takes', async () => {
    const images = Array.from({ length: 4 }, () => dataUrl(image));
    await expectInvalid(await createEdit(customer, images), 'params.images');
    await expectInvalid(await createEdit(customer, []), 'params.images');
    await expectInvalid(await createEdit(customer, [dataUrl(image), 'x']), 'params.images.1 must be');
    await expectInvalid(await createEdit(customer, [dataUrl(image), `${files.url}/\ud800`]), 'params.images.1 must be');
  });

  it('rejects images with more than 30 MB together, by the name of the first one too many', async () => {
    const names = [await upload(customer, image), await upload(customer, image)];
    await createEdit(customer, names);
    await service.sql('UPDATE uploads SET bytes = 15000001 WHERE uuid = ANY ($1)', [
      names.map((name) => name.slice('upload:'.length)),
    ]);
    const refused = await createEdit(customer, names);
    expectError(refused, 'validation_error', 'params.images.1 is too large: the images of a request may have 30 MB');
    expect(await countGenerations()).to.equal(1);
    expect((await createEdit(customer, names.slice(1))).status).to.equal(201);
  });

  it('rejects image parameters of models that have none, as unknown fields', async () => {
    const body = { model: 'edit', prompt: 'x', params: { first_frame: dataUrl(image) } };
    const response = await customer.request('POST', '/api/generations/create/', { body });
    await expectInvalid(response, 'params.first_frame is not a known field');
  });

  it('accepts bodies of up to 8 MB', async () => {
    const large = `data:image/png;base64,${'A'.repeat(6_000_000)}`;
    await expectInvalid(await createEdit(customer, [large]), 'params.images.0: The image cannot be decoded');
    const tooLarge = await createEdit(customer, ['A'.repeat(9_000_000)]);
    expectError(tooLarge, 'validation_error', '8388608 bytes', 413);
    const other = await customer.request('POST', '/api/keys/create/', { body: { name: 'A'.repeat(70_000) } });
    expectError(other, 'validation_error', '65536 bytes', 413);
  }).timeout(30_000);

  it('replays a request with the same Idempotency-Key without fetching again', async () => {
    const headers = { 'idempotency-key': randomUUID() };
    const images = [`${files.url}/once.png`, dataUrl(image)];
    const first = await createEdit(customer, images, headers);
    const second = await createEdit(customer, images, headers);
    expect([first.status, second.status]).to.deep.equal([201, 201]);
    expect(second.headers.get('idempotent-replayed')).to.equal('true');
    expect(second.body).to.deep.equal(first.body);
    expect(files.requests.filter(([path]) => path === '/once.png')).to.have.length(1);
    const changed = await createEdit(customer, [images[0], dataUrl(await makeImage())], headers);
    expectError(changed, 'validation_error', 'Idempotency-Key');
    expect(await countGenerations()).to.equal(1);
  });

  it('fetches nothing for a key that was revoked', async () => {
    const { body: keys } = await customer.request('GET', '/api/keys/');
    const first = await createEdit(customer, [`${files.url}/before.png`]);
    expect(first.status).to.equal(201);
    await customer.requestWithSession('POST', `/api/keys/${keys.data[0].uuid}/revoke/`);
    expectError(await createEdit(customer, [`${files.url}/revoked.png`]), 'invalid_api_key');
    expect(files.requests.filter(([path]) => path === '/revoked.png')).to.deep.equal([]);
  });

  it('charges each of many requests at the same time once', async () => {
    const name = await upload(customer, image);
    const responses = await Promise.all(Array.from({ length: 12 }, () => createEdit(customer, [name, dataUrl(image)])));
    const created = responses.filter(({ status }) => status === 201);
    for (const { status, body } of responses) if (status !== 201) expect(body.error).to.equal('parallel_limit_reached');
    expect(created.length).to.be.greaterThan(0);
    for (const { body } of created) expect(await listInputs(body.uuid)).to.have.length(2);
    expect(await countGenerations()).to.equal(created.length);
  });

  it('shows the images to the moderation service, which can reject them', async () => {
    hook.decide = () => ({ allow: false, reason: 'No boats.' });
    hook.received.length = 0;
    const name = await upload(customer, image);
    const response = await createAnimation(customer, { first_frame: name });
    hook.decide = () => ({ allow: true });
    expect([response.status, response.body.error]).to.deep.equal([400, 'content_rejected']);
    expect(await countGenerations()).to.equal(0);
    const { inputs, params } = hook.received[0]!.body as { inputs: { role: string; url: string }[]; params: object };
    expect(params).to.include({ first_frame: name });
    expect(inputs.map(({ role }) => role)).to.deep.equal(['first_frame']);
    const shown = await fetch(inputs[0]!.url);
    expect([shown.status, shown.headers.get('content-type')]).to.deep.equal([200, 'image/png']);
  });

  it('estimates check the form of images, and fetch and store nothing', async () => {
    const estimate = (images: unknown) =>
      customer.request('POST', '/api/generations/estimate/', {
        body: { model: 'edit', prompt: 'x', params: { images } },
      });
    const { status, body } = await estimate([`${files.url}/estimated.png`, dataUrl(image)]);
    expect([status, body.credits, body.refusal]).to.deep.equal([200, 8, null]);
    expect(body.params.images[1]).to.match(/^upload:/);
    expectError(await estimate(['photo.png']), 'validation_error', 'params.images.0 must be');
    expect(files.requests.filter(([path]) => path === '/estimated.png')).to.deep.equal([]);
    expect((await customer.request('GET', `/api/uploads/${body.params.images[1].slice(7)}/`)).status).to.equal(404);
  });

  it('fetches nothing for an account without a subscription', async () => {
    const visitor = await service.createCustomer(null);
    expectError(await createEdit(visitor, [`${files.url}/unpaid.png`]), 'subscription_required');
    expect(files.requests.filter(([path]) => path === '/unpaid.png')).to.deep.equal([]);
  });

  it('an assistant can animate an image that it has just made', async () => {
    const mcp = await connectMcpClient(customer);
    const { client } = mcp;
    const { tools } = await client.listTools();
    const tool = tools.find(({ name }: { name: string }) => name === 'generate_video');
    expect(tool.inputSchema.properties.first_frame.description).to.include('generation:<uuid>');
    expect(tool.inputSchema.required).to.include('first_frame');
    expect(tool.description).to.include('pass "generation:" and its uuid as first_frame or end');
    const made = (await client.callTool({ name: 'generate_image', arguments: { prompt: 'a boat' } })).structuredContent;
    await customer.waitForEnd(made.uuid);
    const input = { prompt: 'it moves', duration: 5, first_frame: `generation:${made.uuid}` };
    const video = await client.callTool({ name: 'generate_video', arguments: input });
    await mcp.close();
    expect(video.isError, JSON.stringify(video)).to.not.equal(true);
    const [image] = await listInputs(video.structuredContent.uuid);
    expect(image).to.include({ role: 'first_frame', source: 'generation', width: 10, height: 12 });
  });
});
