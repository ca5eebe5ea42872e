import type { Static, TSchema } from 'typebox';
import { createBodyParser } from '../../../shared/lib/validation/bodyParser.ts';
import { isInternalKeyword } from '../../../shared/lib/validation/schemaValidator.ts';
import type { Scope } from '../../../shared/spec/oauth.ts';
import { ErrorResponse } from '../../rest/errorSchemas.ts';
import { buildIcon, type IconName } from '../icons.ts';
import type { McpRequestContext } from '../requestContext.ts';
import type { ToolResult } from './callToolResult.ts';

/** Request context of a tool call. */
export interface ToolContext extends McpRequestContext {
  /** Sends a progress notification; null when the client did not ask for any. */
  reportProgress: ((progress: number, total: number, message: string) => void) | null;
  /** Idempotency key from the request's _meta; null when the client sent none. */
  idempotencyKey: string | null;
}

interface ToolDefinition<Input extends TSchema> {
  name: string;
  title: string;
  /** For the model that chooses a tool: effect, price, duration, next call. */
  description: string;
  icon: IconName;
  input: Input;
  output: TSchema;
  /** True if it spends credits: it then requires `svc:write` and counts against the rate limit of creates. */
  creates: boolean;
  run: (input: Static<Input>, toolContext: ToolContext) => Promise<ToolResult>;
}

/** A tool as the server lists and calls it. */
export interface Tool {
  name: string;
  scope: Scope;
  rateClass: 'create' | 'account';
  /** Entry in the response to `tools/list`. */
  listing: Record<string, unknown> & { name: string };
  /** Validates the input and runs the tool. @throws ServiceError, which becomes the result of the call. */
  run: (input: unknown, toolContext: ToolContext) => Promise<ToolResult>;
}

/** Builds a tool from its definition: input validation, listing, scope and rate class. */
export function defineTool<Input extends TSchema>(definition: ToolDefinition<Input>): Tool {
  const { name, title, description, icon, input, output, creates } = definition;
  const parse = createBodyParser(input);
  return {
    name,
    scope: creates ? 'svc:write' : 'svc:read',
    rateClass: creates ? 'create' : 'account',
    listing: {
      name,
      title,
      description,
      icons: [buildIcon(icon)],
      inputSchema: toPublicSchema(input),
      // Some clients validate error results against the output schema, although the protocol exempts them.
      outputSchema: { type: 'object', anyOf: [toPublicSchema(output), toPublicSchema(ErrorResponse)] },
      annotations: {
        title,
        readOnlyHint: !creates,
        destructiveHint: false,
        idempotentHint: !creates,
        // Creates call external models; the other tools read the account.
        openWorldHint: creates,
      },
    },
    run: (input, toolContext) => definition.run(parse(input), toolContext),
  };
}

/** Converts a schema to plain JSON Schema. Enums get a type, because some models need it to choose a value. */
function toPublicSchema(schema: unknown): Record<string, unknown> {
  return stripInternalKeywords(schema) as Record<string, unknown>;
}

function stripInternalKeywords(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(stripInternalKeywords);
  if (typeof schema !== 'object' || schema === null) return schema;
  const entries = Object.entries(schema)
    .filter(([key, value]) => !isInternalKeyword(key, value))
    .map(([key, value]) => [key, stripInternalKeywords(value)] as const);
  const cleaned = Object.fromEntries(entries) as Record<string, unknown>;
  const { enum: values, type } = cleaned;
  if (Array.isArray(values) && type === undefined) {
    return { type: typeof values[0] === 'number' ? 'integer' : 'string', ...cleaned };
  }
  return cleaned;
}
