import Type from 'typebox';
import { config } from '../../../shared/lib/config.ts';
import type { CallToolResult, ResourceLink } from '@modelcontextprotocol/server';
import type { ServiceError } from '../../../shared/spec/errors.ts';
import type { presentGeneration } from '../../../shared/presenters/generation.ts';

export type PresentedGeneration = ReturnType<typeof presentGeneration>;

/** Result of a tool. */
export interface ToolResult {
  /** Summary for the model, in sentences. */
  text: string;
  /**
   * The relevant fields of the REST response, and `next` where another step follows. For programs, and for models whose
   * client shows them this instead of the text.
   */
  structured: object;
  links?: ResourceLink[];
}

/** Adds the field `next` to the schema of a response. */
export const withNextStep = <Properties extends Type.TProperties>(response: Type.TObject<Properties>) =>
  Type.Object({ ...response.properties, next: Type.String({ description: 'What to do next' }) });

/** Shortens a text for a line of a list. */
export function truncateText(text: string, characters: number): string {
  return text.length > characters ? `${text.slice(0, characters).toWellFormed()}…` : text;
}

export function toCallToolResult({ text, structured, links = [] }: ToolResult): CallToolResult {
  return {
    content: [{ type: 'text', text }, ...links],
    structuredContent: structured,
  };
}

/** Converts an error to a tool result with the same code and detail as REST (spec: Errors). */
export function toErrorResult({ code, message }: ServiceError): CallToolResult {
  return {
    content: [
      {
        type: 'text',
        text: [`${code}: ${message}`, NEXT_STEPS[code]?.()].filter((part) => part !== undefined).join(' '),
      },
    ],
    structuredContent: { error: code, detail: message },
    isError: true,
  };
}

const accountPageUrl = () => `${config.BASE_URL}/account/`;

/** Advice for the model that is added to the error's own detail. */
const NEXT_STEPS: Partial<Record<ServiceError['code'], () => string>> = {
  subscription_required: () => `The user can choose a plan at ${accountPageUrl()}.`,
  insufficient_credits: () => `get_usage returns the balance; the user can add credits at ${accountPageUrl()}.`,
  spending_limit_reached: () => 'Do not repeat the call before that; ask the user.',
  parallel_limit_reached: () => 'get_usage returns the limit; get_generation waits for a generation to end.',
  not_found: () => 'list_library lists the existing generations.',
  model_unavailable: () => 'Try again in a minute.',
};

const CONTENT_TYPES: Record<string, string> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  webp: 'image/webp',
  mp4: 'video/mp4',
  webm: 'video/webm',
};

/** Links to the files of a finished generation. Links, because the bytes would fill a model's context. */
export function buildResourceLinks(generation: PresentedGeneration): ResourceLink[] {
  const { kind, uuid, output_url, thumbnail_url } = generation;
  return [
    ...(output_url === null
      ? []
      : [buildResourceLink(output_url, `The ${kind}`, `${kind}-${uuid}`, ['user', 'assistant'])]),
    ...(thumbnail_url === null
      ? []
      : [buildResourceLink(thumbnail_url, 'Its thumbnail', `thumbnail-${uuid}`, ['assistant'])]),
  ];
}

function buildResourceLink(uri: string, title: string, name: string, audience: ('user' | 'assistant')[]): ResourceLink {
  const extension = /\.(\w+)$/.exec(uri)?.[1] ?? '';
  const mimeType = CONTENT_TYPES[extension];
  return {
    type: 'resource_link',
    uri,
    name: extension === '' ? name : `${name}.${extension}`,
    title,
    ...(mimeType === undefined ? {} : { mimeType }),
    annotations: { audience },
  };
}
