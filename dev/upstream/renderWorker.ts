import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parentPort } from 'node:worker_threads';
import sharp from 'sharp';
import type { StoredFile } from './mediaFiles.ts';
import { renderImage } from './renderImage.ts';
import type { RenderReply, RenderTask } from './renderPool.ts';
import { renderVideo } from './renderVideo.ts';

// One render at a time in each thread, and little memory kept between them.
sharp.concurrency(1);
sharp.cache(false);

parentPort!.on('message', (task: RenderTask) => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  void run(task).then((reply) => parentPort!.postMessage(reply));
});

async function run(task: RenderTask): Promise<RenderReply> {
  try {
    return { files: await renderFiles(task) };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

async function renderFiles({ id, order, folder }: RenderTask): Promise<StoredFile[]> {
  if (order.kind === 'video') return [await store(folder, `${id}.mp4`, 'video/mp4', await renderVideo(order))];
  const files: StoredFile[] = [];
  for (let index = 0; index < order.count; index += 1) {
    const name = `${id}${index === 0 ? '' : `-${index + 1}`}.${order.format}`;
    const bytes = await renderImage({ ...order, seed: order.seed + index });
    files.push(await store(folder, name, `image/${order.format}`, bytes));
  }
  return files;
}

async function store(folder: string, name: string, contentType: string, bytes: Uint8Array): Promise<StoredFile> {
  await writeFile(join(folder, name), bytes);
  return { name, contentType, sizeBytes: bytes.length };
}
