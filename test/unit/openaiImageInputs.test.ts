import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { expect } from 'chai';
import type { FormFile } from '../../dev/sampleUpstream/protocols/requestBody.ts';
import { closeServiceScope } from '../../shared/lib/serviceScope.ts';
import { FakeUpstream, isForm } from '../fakes/fakeUpstream.ts';
import { useFolder } from '../harness/useFolder.ts';
import {
  buildInputImage,
  buildSubmission,
  buildUpstream,
  captureUpstreamError,
  useServers,
} from '../harness/upstreamAdapter.ts';

function describeFile(file: unknown): string[] {
  const { name, type, bytes } = file as FormFile;
  return [name, type, Buffer.from(bytes).toString()];
}

describe('images for an OpenAI-compatible upstream', () => {
  const upstream = new FakeUpstream('test');
  const folder = useFolder();
  useServers(upstream);
  after(closeServiceScope);

  const newFile = async () => join(folder, randomUUID());
  const build = (kind: 'video' | 'image') => buildUpstream('openai', kind, 'model', { baseUrl: `${upstream.url}/v1` });

  it('are sent with a video as a file in a form', async () => {
    const image = buildInputImage('first');
    const input = { seconds: '4', size: '1280x720', input_reference: image.url };
    const result = await build('video').submit({ ...buildSubmission({ input }), images: [image] });
    expect(result.state).to.equal('accepted');
    const job = upstream.jobs.at(-1)!;
    expect(isForm(job)).to.equal(true);
    expect(job.input).to.include({ model: 'model', seconds: '4', size: '1280x720' });
    expect(describeFile(job.input['input_reference'])).to.deep.equal(['image.png', 'image/png', 'content of first']);
  });

  it('are sent with an image to the address for edits, one part each', async () => {
    const images = [buildInputImage('one'), buildInputImage('two')];
    const input = { n: 1, size: '1024x1024', image: images.map(({ url }) => url) };
    const result = await build('image').submit({ ...buildSubmission({ input, newFile }), images });
    expect(result.state).to.equal('succeeded');
    expect(upstream.requests.at(-1)?.call).to.equal('POST /v1/images/edits');
    const files = upstream.jobs.at(-1)!.input['image'] as unknown[];
    expect(files.map((file) => describeFile(file)[2])).to.deep.equal(['content of one', 'content of two']);
  });

  it('are sent with a mask as a part of its own', async () => {
    const images = [buildInputImage('one'), buildInputImage('mask')];
    const [image, mask] = images.map(({ url }) => url);
    const input = { n: 1, size: '1024x1024', image: [image], mask };
    const result = await build('image').submit({ ...buildSubmission({ input, newFile }), images });
    expect(result.state).to.equal('succeeded');
    expect(describeFile(upstream.jobs.at(-1)!.input['mask'])[2]).to.equal('content of mask');
  });

  it('that cannot be read leave the generation to be submitted again', async () => {
    const image = { ...buildInputImage('gone'), read: () => Promise.reject(new Error('the bucket is unavailable')) };
    const submits = upstream.submits;
    const input = { input_reference: image.url };
    const error = await captureUpstreamError(build('video').submit({ ...buildSubmission({ input }), images: [image] }));
    expect(error.fault).to.equal('unavailable');
    expect(upstream.submits).to.equal(submits);
  });

  it('change nothing about a request without them', async () => {
    await build('video').submit(buildSubmission({ input: { seconds: '4', size: '1280x720' } }));
    expect(isForm(upstream.jobs.at(-1)!)).to.equal(false);
    await build('image').submit(buildSubmission({ input: { n: 1 }, newFile }));
    expect(upstream.requests.at(-1)?.call).to.equal('POST /v1/images/generations');
  });
});
