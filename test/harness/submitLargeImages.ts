import { gemini } from '../../shared/gateways/upstreams/providers/gemini.ts';
import { INPUT_IMAGES_MAX_BYTES } from '../../shared/spec/limits.ts';
import { setTestConfig } from './testConfig.ts';
import { buildSubmission, buildUpstream, captureUpstreamError } from './upstreamAdapter.ts';

/**
 * Program of a test: makes submits at a time, each with as many bytes of images as a request may have. Prints the
 * faults of the submits, which have no response, and by how many megabytes the process has grown.
 */

const [url = ''] = process.argv.slice(2);
const SUBMITS = 4;
const IMAGES = 14;
const IMAGE_BYTES = Math.floor(INPUT_IMAGES_MAX_BYTES / IMAGES);
const CHUNK_BYTES = 64 * 1024;

async function* draw(value: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < IMAGE_BYTES; at += CHUNK_BYTES)
    yield Buffer.alloc(Math.min(CHUNK_BYTES, IMAGE_BYTES - at), value);
}

setTestConfig({ UPSTREAM_TIMEOUT_MS: '1000' });
const { protocol } = gemini;
const upstream = buildUpstream('http', 'image', 'gemini-3-pro-image', { baseUrl: url, protocol });
const images = Array.from({ length: IMAGES }, (_, index) => ({
  url: `https://images.example/${index}.png`,
  contentType: 'image/png',
  role: 'reference' as const,
  bytes: IMAGE_BYTES,
  read: async () => draw(index),
}));
const input = { contents: [{ parts: images.map((image) => image.url) }] };
const submit = () => upstream.submit({ ...buildSubmission({ input, deadlineMs: 8_000 }), images });
const getPeakMegabytes = () => process.resourceUsage().maxRSS / 1_024;
const before = getPeakMegabytes();
const errors = await Promise.all(Array.from({ length: SUBMITS }, () => captureUpstreamError(submit())));
const faults = errors.map(({ fault }) => fault);
process.stdout.write(JSON.stringify({ faults, megabytes: Math.round(getPeakMegabytes() - before) }));
process.exit();
