import { expect } from 'chai';
import { Genmeter, GenmeterError } from '../../packages/client/src/index.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import { buildImageCatalog, makeImage } from '../harness/inputImages.ts';
import { startTestService, type TestService } from '../harness/testService.ts';

describe('uploads by the client library', () => {
  let service: TestService;
  let customer: TestCustomer;
  let client: Genmeter;
  before(async () => {
    service = await startTestService({ env: { CATALOG: buildImageCatalog() } });
    customer = await service.createCustomer('studio');
    client = new Genmeter({ key: customer.key, baseUrl: service.baseUrl });
  });
  after(() => service.stop());

  it('creates an upload, sends the file and uses it in a generation', async () => {
    const image = await makeImage('png', { width: 30, height: 20 });
    for (const file of [image, new Blob([new Uint8Array(image)]), new Uint8Array(image).buffer]) {
      const upload = await client.uploads.upload(file, 'image/png');
      expect(upload).to.include({ status: 'ready', content_type: 'image/png', width: 30, height: 20 });
    }
    const { uuid } = await client.uploads.upload(image, 'image/png');
    const params = { duration: 5, first_frame: `upload:${uuid}` };
    const generation = await client.generations.create({ model: 'animate', prompt: 'Waves', params });
    expect((await client.generations.wait(generation.uuid)).status).to.equal('succeeded');
  });

  it('reports a file that is not an image', async () => {
    const upload = await client.uploads.upload(Buffer.from('not an image'), 'image/png');
    expect(upload.status).to.equal('failed');
    expect(upload.error).to.be.a('string');
  });

  it('sends the file again after a lost connection, and the key to no other address than the service', async () => {
    const image = await makeImage();
    const seen: [string, Headers][] = [];
    let failures = 2;
    const unreliable: typeof fetch = async (input, init) => {
      seen.push([String(init?.method), new Headers(init?.headers)]);
      if (init?.method === 'PUT' && failures > 0) {
        failures -= 1;
        throw new TypeError('fetch failed');
      }
      return fetch(input, init);
    };
    const retrying = new Genmeter({ key: customer.key, baseUrl: service.baseUrl, fetch: unreliable });
    expect((await retrying.uploads.upload(image, 'image/png')).status).to.equal('ready');
    expect(seen.map(([method]) => method)).to.deep.equal(['POST', 'PUT', 'PUT', 'PUT', 'GET']);
    for (const [method, headers] of seen) expect(headers.has('authorization')).to.equal(method !== 'PUT');
  });

  it('reports a file that differs from the announced one', async () => {
    const created = await client.uploads.create({ content_type: 'image/png', bytes: 3 });
    const error = await client.uploads.send(created, await makeImage()).catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(GenmeterError).and.include({ error: 'validation_error', status: 400 });
  });
});
