import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { getSharedUploadUuid, parseInputReference, parseInputs } from '../../shared/domain/uploads/prepareInputs.ts';
import { ServiceError } from '../../shared/spec/errors.ts';
import { PNG } from '../fakes/misbehave.ts';

const FIELD = 'params.first_frame';
const dataUrl = (bytes: Uint8Array, type = 'image/png') =>
  `data:${type};base64,${Buffer.from(bytes).toString('base64')}`;

function getProblem(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    expect(error).to.be.instanceOf(ServiceError).and.include({ code: 'validation_error' });
    return (error as Error).message;
  }
  throw new Error('It was accepted.');
}

describe('the value of an image parameter', () => {
  it('names an upload or a generation by its UUID, in any case', () => {
    const uuid = randomUUID();
    expect(parseInputReference(`upload:${uuid}`, FIELD)).to.deep.equal({ form: 'upload', uuid });
    const upper = `generation:${uuid.toUpperCase()}`;
    expect(parseInputReference(upper, FIELD)).to.deep.equal({ form: 'generation', uuid });
  });

  it('is an address, or contains the image', () => {
    const url = 'https://example.com/a.png?x=1';
    expect(parseInputReference(url, FIELD)).to.deep.equal({ form: 'url', url });
    const data = { form: 'data', bytes: PNG };
    expect(parseInputReference(dataUrl(PNG), FIELD)).to.deep.equal(data);
    for (const type of ['image/jpg', 'image/png;charset=utf-8', 'IMAGE/WebP;name=a.webp']) {
      const written = dataUrl(PNG).replace('image/png', type);
      expect(parseInputReference(written, FIELD), type).to.deep.equal(data);
    }
  });

  for (const [value, problem] of [
    ['', 'must be "upload:<uuid>", "generation:<uuid>", an https address, or "data:image/png;base64,…"'],
    ['photo.png', 'must be "upload:<uuid>", "generation:<uuid>", an https address, or "data:image/png;base64,…"'],
    ['/etc/passwd', 'must be "upload:<uuid>", "generation:<uuid>", an https address, or "data:image/png;base64,…"'],
    [
      'file:///etc/passwd',
      'must be "upload:<uuid>", "generation:<uuid>", an https address, or "data:image/png;base64,…"',
    ],
    ['https://', 'must be "upload:<uuid>", "generation:<uuid>", an https address, or "data:image/png;base64,…"'],
    ['upload:1', 'must be "upload:" followed by a UUID'],
    ['generation:', 'must be "generation:" followed by a UUID'],
    [`https://example.com/${'a'.repeat(2_000)}`, 'must have at most 2000 characters. Upload the image instead'],
    ['https://user:secret@example.com/a.png', 'must not contain a user name or password'],
    ['data:image/gif;base64,AAAA', 'must begin with data:image/png;base64, or the same with jpeg or webp'],
    ['data:image/png,AAAA', 'must begin with data:image/png;base64, or the same with jpeg or webp'],
    ['data:image/png;base64,', 'is not valid base64'],
    ['data:image/png;base64,a$b', 'is not valid base64'],
    ['data:image/png;base64,==', 'is not valid base64'],
    ['data:image/png;base64,QQ===', 'is not valid base64'],
    ['data:image/png;base64,Q=Q', 'is not valid base64'],
    [dataUrl(Buffer.alloc(5_000_004)), 'must have at most 5 MB. Upload the image instead'],
  ] as const) {
    it(`is rejected if it is ${JSON.stringify(value.slice(0, 40))}: ${problem}`, () => {
      expect(getProblem(() => parseInputReference(value, FIELD))).to.equal(`${FIELD} ${problem}.`);
    });
  }

  it('names the same upload for the same data, of this account only', () => {
    const reference = parseInputReference(dataUrl(PNG), FIELD);
    expect(getSharedUploadUuid(1, reference)).to.equal(
      getSharedUploadUuid(1, parseInputReference(dataUrl(PNG), FIELD)),
    );
    expect(getSharedUploadUuid(2, reference)).to.not.equal(getSharedUploadUuid(1, reference));
    expect(getSharedUploadUuid(1, parseInputReference('https://example.com/', FIELD))).to.equal(undefined);
  });
});

describe('the image parameters of a request', () => {
  const declarations = {
    start: { role: 'first_frame', max: 1, required: true },
    style: { role: 'reference', max: 2, required: false },
  } as const;

  it('have roles and positions, and data URLs are shown as uploads', () => {
    const [one, two] = [randomUUID(), randomUUID()];
    const params = { duration: 5, start: dataUrl(PNG), style: [`upload:${one}`, `generation:${two}`] };
    const { params: shown, inputs } = parseInputs(7, declarations, params);
    const shared = getSharedUploadUuid(7, parseInputReference(dataUrl(PNG), ''));
    expect(shown).to.deep.equal({ ...params, start: `upload:${shared}` });
    expect(inputs.map(({ field, role, position }) => [field, role, position])).to.deep.equal([
      ['params.start', 'first_frame', 0],
      ['params.style.0', 'reference', 0],
      ['params.style.1', 'reference', 1],
    ]);
  });

  it('are rejected with the name of the item', () => {
    const params = { start: `upload:${randomUUID()}`, style: ['https://example.com/a.png', 'b.png'] };
    expect(getProblem(() => parseInputs(7, declarations, params))).to.match(/^params\.style\.1 must be/);
  });
});
