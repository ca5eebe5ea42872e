import { expect } from 'chai';
import type { TestCustomer } from '../harness/apiClient.ts';
import { buildImageCatalog, createAnimation, describeImage, makeImage, upload } from '../harness/inputImages.ts';
import { startTestService, type TestService } from '../harness/testService.ts';

const TEAL = [0, 128, 128];

describe('input images', () => {
  let service: TestService;
  let customer: TestCustomer;
  before(async () => {
    service = await startTestService({ env: { CATALOG: buildImageCatalog() } });
    customer = await service.createCustomer('studio');
  });
  after(() => service.stop());

  it('are uploaded, and read by the upstream at an address that expires', async () => {
    const name = await upload(customer, await makeImage('png', { width: 64, height: 48 }));
    const created = await createAnimation(customer, { first_frame: name });
    expect(created.status, JSON.stringify(created.body)).to.equal(201);
    expect(created.body.params.first_frame).to.equal(name);
    expect(await customer.waitForEnd(created.body.uuid)).to.include({ status: 'succeeded' });
    const [job] = service.upstream.jobs;
    const { image_url: url, ...input } = job?.input as Record<string, string>;
    expect(input).to.not.have.any.keys('first_frame', 'end', 'end_image_url');
    const response = await fetch(url as string);
    expect(response.status).to.equal(200);
    expect(response.headers.get('content-type')).to.equal('image/png');
    expect(response.headers.get('cache-control')).to.equal('private, no-store');
    expect(await describeImage(Buffer.from(await response.arrayBuffer()))).to.deep.equal({
      width: 64,
      height: 48,
      pixel: TEAL,
    });
  });
});
