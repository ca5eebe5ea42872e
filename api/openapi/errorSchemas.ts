import Type from 'typebox';
import type { ErrorCode } from '../../shared/spec/errors.ts';

/** Body of every error response. */
export const ErrorResponse = Type.Object({
  error: Type.String({ description: 'A stable code, such as insufficient_credits' }),
  detail: Type.String({ description: 'A sentence that says what is wrong and what to do' }),
});

/** Body of the error responses with these codes. */
export const errorResponseFor = (codes: readonly ErrorCode[]) =>
  Type.Object({
    error: Type.Enum([...codes], { description: 'A stable code to match on' }),
    detail: Type.String({ description: 'A sentence that says what is wrong and what to do; it may change' }),
  });
