import type { RequestOptions, Transport } from './transport.ts';
import type { CreatedUpload, CreateUpload, Upload } from './types.ts';

const UPLOADS_PATH = '/api/uploads/';
/** Time that an attempt to send a file may take in addition to the timeout. */
const TRANSFER_MS = 240_000;

/** Bytes of an image: what `fetch`, a file input and `fs.readFile` return. */
export type ImageFile = Blob | ArrayBuffer | Uint8Array;

/** Images for models that take them. Name one in `params` of a create as `upload:<uuid>`. */
export class Uploads {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Creates an upload that waits for its file. A repetition leaves an unused one, which expires. */
  create(upload: CreateUpload, options?: RequestOptions): Promise<CreatedUpload> {
    const call = { method: 'POST', path: `${UPLOADS_PATH}create/`, body: upload, repetition: 'safe' } as const;
    return this.#transport.request(call, options);
  }

  /** Sends the file of an upload to its address. */
  async send({ upload_url: url, headers }: CreatedUpload, file: ImageFile, options?: RequestOptions): Promise<void> {
    const target = { url, headers, file };
    const call = { method: 'PUT', path: '', target, repetition: 'safe', extraMs: TRANSFER_MS } as const;
    await this.#transport.request(call, options);
  }

  /** Returns an upload, and decodes its file if it has arrived. */
  get(uuid: string, options?: RequestOptions): Promise<Upload> {
    const path = `${UPLOADS_PATH}${encodeURIComponent(uuid)}/`;
    return this.#transport.request({ method: 'GET', path, repetition: 'safe' }, options);
  }

  /**
   * Uploads an image: creates the upload, sends the file and has it decoded. Check whether the `status` of the result
   * is `ready` or `failed`.
   */
  async upload(file: ImageFile, contentType: CreateUpload['content_type'], options?: RequestOptions): Promise<Upload> {
    const bytes = file instanceof Blob ? file.size : file.byteLength;
    const created = await this.create({ content_type: contentType, bytes }, options);
    await this.send(created, file, options);
    return this.get(created.uuid, options);
  }
}
