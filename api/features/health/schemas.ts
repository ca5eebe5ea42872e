import Type from 'typebox';

export const ReadyResponse = Type.Object({ status: Type.String({ const: 'ready' }) });

export const ServingResponse = Type.Object({ status: Type.String({ const: 'serving' }) });

export const HealthResponse = Type.Object({ status: Type.String({ const: 'ok' }), version: Type.String() });

export const OpenApiResponse = Type.Object(
  { openapi: Type.String(), info: Type.Object({ version: Type.String() }, { additionalProperties: true }) },
  { additionalProperties: true },
);
