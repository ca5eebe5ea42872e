import Type from 'typebox';

export const ReadyResponse = Type.Object({ status: Type.String({ const: 'ready' }) });

export const HealthResponse = Type.Object({ status: Type.String({ const: 'ok' }), version: Type.String() });
