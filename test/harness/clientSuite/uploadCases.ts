import { check, checkEqual, checkFields, checkRejected } from './check.ts';
import type { SuiteCase, SuiteContext } from './context.ts';

/** Model that takes an image, and another image that may be its last frame. */
const ANIMATE = { model: 'animate', prompt: 'Waves' } as const;

function decodeImage({ settings }: SuiteContext): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(settings.image), (character) => character.charCodeAt(0));
}

export const UPLOAD_CASES: SuiteCase[] = [
  {
    title: 'uploads.upload takes a Blob, an ArrayBuffer and a Uint8Array',
    run: async (context) => {
      const { uploads } = context.open('main');
      const bytes = decodeImage(context);
      for (const file of [bytes, bytes.buffer, new Blob([bytes])]) {
        const upload = await uploads.upload(file, 'image/png');
        checkFields(upload, { status: 'ready', width: 30, height: 20, error: null }, 'upload');
        check(upload.bytes > 0, 'bytes of the stored image');
      }
    },
  },
  {
    title: 'uploads.create, send and get upload in steps, and the image is the input of a generation',
    run: async (context) => {
      const { uploads, generations } = context.open('main');
      const bytes = decodeImage(context);
      const created = await uploads.create({ content_type: 'image/png', bytes: bytes.length });
      checkEqual((await uploads.get(created.uuid)).status, 'pending', 'status before the file');
      await uploads.send(created, bytes);
      checkEqual((await uploads.get(created.uuid)).status, 'ready', 'status with the file');
      const params = { duration: 5, first_frame: `upload:${created.uuid}` };
      const { uuid } = await generations.create({ ...ANIMATE, params });
      checkFields(await generations.wait(uuid), { status: 'succeeded', kind: 'video' }, 'video');
    },
  },
  {
    title: 'a generated image is the input of another generation, without an upload',
    run: async (context) => {
      const { generations } = context.open('main');
      const request = { model: 'imgmodel-2', params: { resolution: '1K' }, prompt: 'A lighthouse' } as const;
      const { uuid: image } = await generations.create(request);
      await generations.wait(image);
      const params = { duration: 5, first_frame: `generation:${image}` };
      const { uuid } = await generations.create({ ...ANIMATE, params });
      checkEqual((await generations.wait(uuid)).status, 'succeeded', 'status');
    },
  },
  {
    title: 'uploads.upload reports a file that is not an image, and send one of another size',
    run: async (context) => {
      const { uploads } = context.open('main');
      const failed = await uploads.upload(new TextEncoder().encode('not an image'), 'image/png');
      checkEqual(failed.status, 'failed', 'status');
      check((failed.error ?? '') !== '', 'no reason');
      const created = await uploads.create({ content_type: 'image/png', bytes: 3 });
      await checkRejected(uploads.send(created, decodeImage(context)), { error: 'validation_error', status: 400 });
      const tooLarge = uploads.create({ content_type: 'image/png', bytes: 1e9 });
      await checkRejected(tooLarge, { error: 'validation_error', status: 400 });
      const missing = generations(context).create({ ...ANIMATE, params: { duration: 5 } });
      await checkRejected(missing, { error: 'validation_error', status: 400 });
    },
  },
];

const generations = (context: SuiteContext) => context.open('main').generations;
