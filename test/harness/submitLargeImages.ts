import { gemini } from '../../shared/gateways/upstreams/providers/gemini.ts';
import { INPUT_IMAGES_MAX_BYTES } from '../../shared/spec/limits.ts';
import { buildRoute, buildSubmission, captureUpstreamError, loadAdapter } from './upstreamAdapter.ts';

/**
 * Program of a test: makes three submits at a time with as many bytes of images as a process may have in memory, beside a
 * heap that is in use. Prints the faults of the submits, which have no response.
 */

const [url = '', usedMegabytes = ''] = process.argv.slice(2);
const SUBMITS = 3;
/** As many images as have their base64 in the heap: that of larger ones is outside of it. */
const IMAGES = 14;

const used = Array.from({ length: 8 * Number(usedMegabytes) }, (_, index) =>
  Array.from({ length: 15_000 }, (_, position) => index + position + 0.5),
);

const adapter = await loadAdapter('http');
const { protocol } = gemini;
const upstream = adapter(buildRoute('http', 'image', 'gemini-3-pro-image', { baseUrl: url, protocol }));
const images = Array.from({ length: IMAGES }, (_, index) => ({
  url: `https://images.example/${index}.png`,
  contentType: 'image/png',
  role: 'reference' as const,
  read: () => Promise.resolve(Buffer.alloc(INPUT_IMAGES_MAX_BYTES / SUBMITS / IMAGES, index)),
}));
const input = { contents: [{ parts: images.map((image) => image.url) }] };
const submit = () => upstream.submit({ ...buildSubmission({ input, deadlineMs: 5_000 }), images });
const errors = await Promise.all(Array.from({ length: SUBMITS }, () => captureUpstreamError(submit())));
process.stdout.write(errors.map(({ fault }) => fault).join(' '));
// Kept until here.
if (used.length === 0) throw new Error('the heap is not in use');
process.exit();
