import type { Static, TSchema } from 'typebox';
import { createBodyParser } from '../../../shared/lib/validate.ts';
import type { Scope } from '../../../shared/spec/oauth.ts';
import { ErrorResponse } from '../../rest/errorSchemas.ts';
import type { McpRequestContext } from '../requestContext.ts';
import { type IconName, buildIcon } from '../icons.ts';
import { toPublicSchema } from './publicSchema.ts';
import type { ToolResult } from './results.ts';

/** What a tool can use of the request that calls it. */
export interface ToolContext extends McpRequestContext {
  /** Tells how it is getting on, where the client wants to know. */
  reportProgress: ((progress: number, total: number, message: string) => void) | null;
  /** What the client calls this order, so that it may send it again; null where it has no name for it. */
  idempotencyKey: string | null;
}

interface ToolDefinition<Input extends TSchema> {
  name: string;
  title: string;
  /** For the model that chooses: what it does, what it costs, how long it takes, what to call next. */
  description: string;
  icon: IconName;
  input: Input;
  output: TSchema;
  /** Whether it spends credits: it then needs `svc:write`, and is counted as a create. */
  creates: boolean;
  run: (input: Static<Input>, call: ToolContext) => Promise<ToolResult>;
}

/** A tool, ready to be listed and called. */
export interface Tool {
  name: string;
  scope: Scope;
  rateClass: 'create' | 'account';
  /** As `tools/list` shows it. */
  listing: Record<string, unknown> & { name: string };
  /** @throws ServiceError, which the model is told. */
  run: (input: unknown, call: ToolContext) => Promise<ToolResult>;
}

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
      // Clients check refusals against it, too, whatever the specification says of them.
      outputSchema: { type: 'object', anyOf: [toPublicSchema(output), toPublicSchema(ErrorResponse)] },
      annotations: {
        title,
        readOnlyHint: !creates,
        destructiveHint: false,
        idempotentHint: !creates,
        // A create leads to a model of somebody else's; all else stays in the account.
        openWorldHint: creates,
      },
    },
    run: (input, call) => definition.run(parse(input), call),
  };
}
