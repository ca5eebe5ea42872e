import { expect } from 'chai';
import sharp from 'sharp';
import { expireUploads } from '../../shared/domain/uploads/expireUploads.ts';
import { FakeS3Bucket } from '../fakes/s3Bucket.ts';
import type { TestCustomer } from '../harness/apiClient.ts';
import {
  buildImageCatalog,
  createAnimation,
  createUpload,
  describeImage,
  getLastInput,
  makeImage,
  putFile,
  upload,
} from '../harness/inputImages.ts';
import { expectError } from '../harness/errorEnvelope.ts';
import { startTestService, type TestService } from '../harness/testService.ts';
import { deleteDueUploadFiles } from '../harness/tasks.ts';

const HOUR_MS = 3_600_000;

describe('input images in a bucket', () => {
  const bucket = new FakeS3Bucket();
  let service: TestService;
  let customer: TestCustomer;
  before(async () => {
    await bucket.start();
    service = await startTestService({
      env: { ...bucket.env, MEDIA_S3_PREFIX: 'media', CATALOG: buildImageCatalog() },
    });
    customer = await service.createCustomer('studio');
  });
  after(async () => {
    await service.stop();
    await bucket.stop();
  });
  beforeEach(async () => {
    service.clockOffsetMs = 0;
    service.upstream.reset();
    await bucket.reset();
  });

  const listUploadKeys = async () => (await bucket.keys()).filter((key) => key.startsWith('media/uploads/'));

  it('are uploaded to the bucket, and read from it by the upstream', async () => {
    const photo = await sharp(await makeImage('jpeg', { width: 64, height: 48 }))
      .withExif({ IFD0: { Copyright: 'Jane Doe' } })
      .toBuffer();
    const created = await createUpload(customer, photo.length, 'image/jpeg');
    expect(created.upload_url).to.match(
      new RegExp(`^${bucket.publicUrl}/media/uploads/../.{30}/original/file\\?X-Amz-`),
    );
    expect(created.headers).to.deep.equal({ 'content-type': 'image/jpeg' });
    expect((await putFile(created, photo)).status).to.equal(200);
    const { body } = await createAnimation(customer, { first_frame: `upload:${created.uuid}` });
    expect(await customer.waitForEnd(body.uuid)).to.include({ status: 'succeeded' });
    const url = getLastInput(service)['image_url'] as string;
    expect(url).to.match(
      new RegExp(`^${bucket.publicUrl}/media/uploads/.*/image\\.jpg\\?X-Amz-.*X-Amz-Expires=1[78]\\d\\d&`),
    );
    const response = await fetch(url);
    expect([response.status, response.headers.get('content-type')]).to.deep.equal([200, 'image/jpeg']);
    expect(response.headers.get('cache-control')).to.equal('private, no-store');
    const content = Buffer.from(await response.arrayBuffer());
    expect(content.includes('Jane Doe')).to.equal(false);
    expect(await describeImage(content)).to.deep.include({ width: 64, height: 48 });
    // The file as it was sent is deleted.
    expect(await listUploadKeys()).to.have.length(1);
  });

  it('are accepted by the bucket with the announced size and type only', async () => {
    const image = await makeImage();
    const created = await createUpload(customer, image.length);
    expect((await putFile(created, Buffer.concat([image, image]))).status).to.equal(403);
    expect((await putFile({ ...created, headers: { 'content-type': 'text/html' } }, image)).status).to.equal(403);
    expect(await listUploadKeys()).to.deep.equal([]);
    const waiting = await createAnimation(customer, { first_frame: `upload:${created.uuid}` });
    expectError(waiting, 'validation_error', 'whose file has not arrived');
    expect((await putFile(created, image)).status).to.equal(200);
    expect((await createAnimation(customer, { first_frame: `upload:${created.uuid}` })).status).to.equal(201);
  });

  it('that are sent again after they were decoded are deleted ten minutes after their address has expired', async () => {
    const image = await makeImage();
    const created = await createUpload(customer, image.length);
    await putFile(created, image);
    const { body } = await createAnimation(customer, { first_frame: `upload:${created.uuid}` });
    expect((await customer.waitForEnd(body.uuid)).status).to.equal('succeeded');
    expect((await putFile(created, image)).status).to.equal(200);
    expect(await listUploadKeys()).to.have.length(2);
    service.clockOffsetMs = HOUR_MS + 11 * 60_000;
    await deleteDueUploadFiles();
    const [key, ...others] = await listUploadKeys();
    expect(key).to.match(/image\.png$/);
    expect(others).to.deep.equal([]);
  });

  it('are deleted from it a day after their last use', async () => {
    const used = await upload(customer, await makeImage());
    const unused = await upload(customer, await makeImage());
    const { body } = await createAnimation(customer, { first_frame: used });
    await customer.waitForEnd(body.uuid);
    expect(await listUploadKeys()).to.have.length(2);
    service.clockOffsetMs = 24 * HOUR_MS + 60_000;
    await expireUploads();
    await deleteDueUploadFiles();
    expect(await listUploadKeys()).to.have.length(1);
    const gone = await customer.request('GET', `/api/uploads/${unused.slice('upload:'.length)}/`);
    expectError(gone, 'not_found');
  });

  it('that cannot be read while the bucket is unavailable delay nothing and charge nothing', async () => {
    const name = await upload(customer, await makeImage());
    const balance = await customer.balance();
    bucket.mode = 'deny';
    const response = await createAnimation(customer, { first_frame: name });
    expect([response.status, response.body.error]).to.deep.equal([503, 'internal_error']);
    expect(response.body.detail).to.include('charged nothing');
    expect(response.headers.get('retry-after')).to.equal('5');
    bucket.mode = 'serve';
    expect(await customer.balance()).to.equal(balance);
    expect((await createAnimation(customer, { first_frame: name })).status).to.equal(201);
  });

  it('cannot be sent to the addresses that serve files on disk', async () => {
    const created = await createUpload(customer, 10);
    const path = `/uploads/${created.uuid}/original?expires=9999999999&signature=${'A'.repeat(43)}`;
    expectError(await service.request('PUT', path, { rawBody: 'x' }), 'not_found');
  });
});
