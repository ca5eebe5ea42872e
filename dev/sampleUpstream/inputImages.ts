import type { RequestInput } from './protocols/inputValidation.ts';
import { isObject } from './protocols/requestBody.ts';

/** Images of a request, as addresses or as the content of files. */
export interface InputImages {
  first?: InputImage;
  last?: InputImage;
  references: InputImage[];
}
export type InputImage = string | Uint8Array;

/** Names of the fields of a protocol. */
interface ImageFields {
  first?: string;
  last?: string;
  references: string[];
}

/** Reads the images of a request. Other values are ignored. */
export function readInputImages(input: RequestInput, { first, last, references }: ImageFields): InputImages {
  const read = (name: string | undefined) => (name === undefined ? [] : toImages(input[name]))[0];
  return { first: read(first), last: read(last), references: references.flatMap((name) => toImages(input[name])) };
}

function toImages(value: unknown): InputImage[] {
  if (Array.isArray(value)) return value.flatMap(toImages);
  if (typeof value === 'string' && /^https?:/.test(value)) return [value];
  return isObject(value) && value['bytes'] instanceof Uint8Array ? [value['bytes']] : [];
}

const FETCH_TIMEOUT_MS = 10_000;

/** Fetches an image if it is an address. @throws Error if the response is not successful. */
export async function loadImage(image: InputImage): Promise<Uint8Array> {
  if (typeof image !== 'string') return image;
  const response = await fetch(image, { signal: AbortSignal.timeout(FETCH_TIMEOUT_MS) });
  if (!response.ok) throw new Error(`an input image returned status ${response.status}`);
  return new Uint8Array(await response.arrayBuffer());
}
