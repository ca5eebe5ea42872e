import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import S3rver from '@20minutes/s3rver';
import { HttpFake } from './httpFake.ts';

/** Suffix of files with object content on the server's disk. */
const OBJECT_FILE_SUFFIX = '._S3rver_object';

/** Path of an object, as opposed to a list request. */
const OBJECT_PATH = /^\/[^/?]+\/[^?]/;

const XML = '<?xml version="1.0" encoding="UTF-8"?>';

const ACCESS_DENIED = `${XML}<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>`;

/**
 * A bucket on a real S3 server, which checks signatures. Objects can be read without keys; everything else needs them.
 * It misbehaves on demand.
 */
export class FakeS3Bucket extends HttpFake {
  readonly name = 'outputs';
  /** Misbehavior for all requests. */
  mode: 'serve' | 'hang' | 'error' | 'busy' | 'drop' | 'deny' | 'garbage' | 'proxy' = 'serve';
  /** Number of requests that misbehave before it serves again. */
  failures = Number.POSITIVE_INFINITY;
  /** Maximum number of objects in a list response. */
  pageSize = 1_000;
  /** Received requests, as `PUT /outputs/a.png`. */
  readonly requests: string[] = [];
  /** Headers of each upload. */
  readonly uploads: IncomingMessage['headers'][] = [];
  private folder = '';
  private s3: S3rver | undefined;

  override async start(): Promise<this> {
    this.folder = await mkdtemp(join(tmpdir(), 'genmeter-bucket-'));
    const options = { directory: this.folder, silent: true, vhostBuckets: false };
    this.s3 = new S3rver({ ...options, configureBuckets: [{ name: this.name }] });
    await this.s3.configureBuckets();
    await this.acceptConnections();
    return this;
  }

  override async stop(): Promise<void> {
    await this.refuseConnections();
    this.s3?.logger.close();
    await rm(this.folder, { recursive: true, force: true });
  }

  /** Refuses connections until {@link acceptConnections}, which uses the same address. */
  refuseConnections(): Promise<void> {
    return super.stop();
  }

  async acceptConnections(): Promise<void> {
    await super.start();
  }

  /** Options for the store. */
  get options() {
    const keys = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' };
    return { bucket: this.name, endpoint: this.url, region: 'us-east-1', prefix: '', ...keys };
  }

  /** Environment of a service that stores its outputs here. */
  get env(): Record<string, string> {
    return {
      MEDIA_S3_BUCKET: this.name,
      MEDIA_S3_ENDPOINT: this.url,
      MEDIA_S3_ACCESS_KEY_ID: this.options.accessKeyId,
      MEDIA_S3_SECRET_ACCESS_KEY: this.options.secretAccessKey,
      CDN_URL: this.publicUrl,
    };
  }

  /** Public address of the objects. */
  get publicUrl(): string {
    return `${this.url}/${this.name}`;
  }

  /** Returns the keys of all objects, in order. */
  async keys(): Promise<string[]> {
    const entries = await this.entries();
    const objects = entries.filter((entry) => entry.endsWith(OBJECT_FILE_SUFFIX));
    return objects.map((entry) => entry.slice(0, -OBJECT_FILE_SUFFIX.length).replaceAll('\\', '/')).sort();
  }

  /** Lists all files. A folder may disappear with its last object during the listing, which is then repeated. */
  private async entries(): Promise<string[]> {
    try {
      return await readdir(join(this.folder, this.name), { recursive: true });
    } catch (error) {
      const { code, path } = error as NodeJS.ErrnoException;
      if (code !== 'ENOENT' || path === join(this.folder, this.name)) throw error;
      return this.entries();
    }
  }

  /** Creates objects directly on the disk, without requests. */
  async putObjects(keys: string[]): Promise<void> {
    for (const key of keys) {
      const file = join(this.folder, this.name, `${key}${OBJECT_FILE_SUFFIX}`);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, 'placed');
    }
  }

  /** Serves again, without objects and recorded requests. */
  async reset(): Promise<void> {
    this.mode = 'serve';
    this.failures = Number.POSITIVE_INFINITY;
    this.pageSize = 1_000;
    this.requests.length = 0;
    this.uploads.length = 0;
    await rm(join(this.folder, this.name), { recursive: true, maxRetries: 10 });
    await mkdir(join(this.folder, this.name));
  }

  protected handle(request: IncomingMessage, response: ServerResponse): void {
    const { method = '', url = '', headers } = request;
    this.requests.push(`${method} ${url}`);
    if (method === 'PUT') this.uploads.push(headers);
    const { mode } = this;
    this.failures -= 1;
    if (this.failures === 0) this.mode = 'serve';
    switch (mode) {
      case 'hang':
        return;
      case 'drop':
        request.socket.destroy();
        return;
      case 'error':
        return respond(response, 500, '');
      case 'busy':
        return respond(response, 503, '<html>Please come back later.</html>');
      case 'garbage':
        return respond(response, 404, '<html>Welcome to nginx!</html>');
      case 'proxy':
        return respond(response, 502, '<html><body><p>Bad gateway<br></body></html>');
      case 'deny':
        return respond(response, 403, ACCESS_DENIED);
      default: {
        const isObject = OBJECT_PATH.test(url);
        const isPublic = isObject && /^(GET|HEAD)$/.test(method);
        const isSigned = headers.authorization !== undefined || url.includes('X-Amz-Signature=');
        if (!isPublic && !isSigned) return respond(response, 403, ACCESS_DENIED);
        if (isObject || !url.startsWith(`/${this.name}/`)) this.s3?.callback()(request, response);
        else void this.list(new URL(url, this.url).searchParams, response);
      }
    }
  }

  /** Lists objects. The server itself rejects the signature of a path with a trailing slash, and has no pagination. */
  private async list(query: URLSearchParams, response: ServerResponse): Promise<void> {
    const after = query.get('continuation-token') ?? '';
    const keys = (await this.keys()).filter((key) => key.startsWith(query.get('prefix') ?? '') && key > after);
    const page = keys.slice(0, Number(query.get('max-keys') ?? this.pageSize));
    const isTruncated = page.length < keys.length;
    const contents = page.map((key) => `<Contents><Key>${key}</Key></Contents>`).join('');
    const next = isTruncated ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : '';
    const end = `<IsTruncated>${isTruncated}</IsTruncated>${next}`;
    respond(response, 200, `${XML}<ListBucketResult>${contents}${end}</ListBucketResult>`);
  }
}

function respond(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': text.startsWith('<html') ? 'text/html' : 'application/xml' }).end(text);
}
