import type { KindProtocol, ProviderDescription } from '../described/protocol.ts';

/** Nodes that save videos name their files by `gifs`, `video` or `images`. */
const make = (outputs: [string, ...string[]]): KindProtocol => ({
  // A workflow has no usual form: each model has its own as the input.
  input: {},
  submit: {
    path: '/prompt',
    input: 'prompt',
    // In a folder of its own, a name is free: ComfyUI compares a file with all others of its name.
    uploads: [
      {
        path: '/upload/image',
        as: 'form',
        body: { image: '$address', type: 'input', subfolder: '{generation_id}' },
        values: { name: '/name', subfolder: '/subfolder' },
      },
    ],
    images: '{subfolder}/{name}',
    id: '/prompt_id',
  },
  poll: {
    path: '/api/jobs/{id}',
    state: '/status',
    states: {
      pending: 'queued',
      in_progress: 'running',
      completed: 'succeeded',
      failed: 'failed',
      cancelled: 'canceled',
    },
    output: {
      at: outputs,
      address: '/view?filename={filename}&subfolder={subfolder}&type={type}',
    },
  },
  // Interrupts a job that has just started, which then makes nothing either.
  cancel: {
    method: 'POST',
    path: '/api/jobs/{id}/cancel',
    confirmed: [{ status: 200, at: '/cancelled', is: ['true'] }],
  },
});

/**
 * A ComfyUI of one's own: `server.py` and `openapi.yaml` of https://github.com/Comfy-Org/ComfyUI, which has the addresses
 * of jobs since June 2026. The `input` of a model is its workflow, exported with "Export (API)". A model id is any
 * name. Errors of workflows are not shown to customers: they name nodes and files of the server. ComfyUI checks no
 * keys, but a proxy in front of it may.
 */
export const comfyui: ProviderDescription = {
  base_url: 'http://127.0.0.1:8188',
  protocol: {
    auth: { type: 'bearer', optional: true },
    files: { auth: true },
    probe: { path: '/system_stats' },
    image: make(['/outputs/*/images/*']),
    video: make(['/outputs/*/gifs/*', '/outputs/*/video/*', '/outputs/*/images/*']),
  },
};
