import { expect } from 'chai';
import { fillTemplate, type TemplateVariables, type Template } from '../../shared/lib/template.ts';

const VIDEO: TemplateVariables = {
  prompt: 'a lighthouse',
  duration: 5,
  resolution: '720p',
  audio: false,
  aspect_ratio: '16:9',
};
const IMAGE: TemplateVariables = { prompt: 'a lighthouse', resolution: '4K', aspect_ratio: '1:1' };

/** Returns the error message of filling a template. */
function getTemplateError(template: Template, order = VIDEO): string {
  try {
    return `nothing, but: ${JSON.stringify(fillTemplate(template, order))}`;
  } catch (error) {
    return (error as Error).message;
  }
}

describe('a template', () => {
  const filled: [string, Template, unknown][] = [
    ['a number as it is', '$duration', 5],
    ['a number as text', '{duration}', '5'],
    ['a switch as it is', '$audio', false],
    ['a switch as text', '{audio}', 'false'],
    ['a text as it is', '$resolution', '720p'],
    [
      'values inside a text',
      '{prompt}, in {resolution} ({aspect_ratio}, {resolution})',
      'a lighthouse, in 720p (16:9, 720p)',
    ],
    ['numbers that stand for themselves', 24, 24],
    ['switches that stand for themselves', true, true],
    ['texts that stand for themselves', 'mp4', 'mp4'],
    ['an empty text', '', ''],
    ['braces that hold no name', '{ "a": {} } {a b}', '{ "a": {} } {a b}'],
    ['a dollar that does not stand for the whole', 'for $duration', 'for $duration'],
    ['nothing, in the place of a field', { a: null, b: 1 }, { b: 1 }],
    ['an object in an object', { a: { b: { c: '$duration' } } }, { a: { b: { c: 5 } } }],
    ['an empty object and an empty list', { a: {}, b: [] }, { a: {}, b: [] }],
    ['a list', ['$duration', { a: '{audio}' }, ['$prompt'], 1], [5, { a: 'false' }, ['a lighthouse'], 1]],
    ['a row of a table', { size: { $by: 'resolution', '720p': 'small', '1080p': 'large' } }, { size: 'small' }],
    ['a row by two values', { $by: 'resolution aspect_ratio', '720p 16:9': '1280x720' }, '1280x720'],
    ['a row by a number', { $by: 'duration', '5': 'short', '10': 'long' }, 'short'],
    ['a row by a switch', { $by: 'audio', true: 'loud', false: 'silent' }, 'silent'],
    ['a row that refers to a value', { $by: 'audio', false: '{duration}s of {prompt}' }, '5s of a lighthouse'],
    ['a row that is a table', { $by: 'audio', false: { $by: 'duration', '5': 'a', '10': 'b' } }, 'a'],
    ['a row that is an object', { $by: 'audio', false: { fps: 24, seconds: '$duration' } }, { fps: 24, seconds: 5 }],
    ['a row that leaves the field out', { a: { $by: 'audio', true: 'stereo', false: null }, b: 1 }, { b: 1 }],
  ];
  for (const [what, template, result] of filled) {
    it(`inserts ${what}`, () => {
      expect(fillTemplate(template, VIDEO)).to.deep.equal(result);
    });
  }

  it('is filled from the params of an image in the same way', () => {
    const template = { text: '$prompt', size: { $by: 'resolution aspect_ratio', '4K 1:1': [4096, 4096] } };
    expect(fillTemplate(template, IMAGE)).to.deep.equal({ text: 'a lighthouse', size: [4096, 4096] });
  });

  it('leaves out entries of a list without a value, and adds the entries of a variable that is a list', () => {
    const template = [{ text: '$prompt' }, '$first_frame', '$reference', ['$reference'], null];
    const variables = { prompt: 'p', first_frame: null, reference: ['a', 'b'] };
    expect(fillTemplate(template, variables)).to.deep.equal([{ text: 'p' }, 'a', 'b', ['a', 'b']]);
    expect(fillTemplate({ urls: '$reference' }, variables)).to.deep.equal({ urls: ['a', 'b'] });
  });

  it('is not changed by being filled', () => {
    const template = { a: '$duration', b: { $by: 'audio', false: ['{prompt}'] } };
    const before = structuredClone(template);
    fillTemplate(template, VIDEO);
    expect(template).to.deep.equal(before);
  });

  for (const prompt of ['{duration} $audio', '$duration', '{"$by": "audio"}', '$&$1$`', '${HOME}', '{constructor}']) {
    it(`never reads a prompt as a template: ${prompt}`, () => {
      const order = { ...VIDEO, prompt };
      expect(fillTemplate({ a: '$prompt', b: '{prompt}', c: 'of {prompt}!' }, order)).to.deep.equal({
        a: prompt,
        b: prompt,
        c: `of ${prompt}!`,
      });
    });
  }

  const refused: [string, Template, string][] = [
    [
      'an unknown variable',
      '$seconds',
      'unknown variable "seconds"; available are prompt, duration, resolution, audio, aspect_ratio',
    ],
    [
      'an unknown variable inside a string',
      'in {size}',
      'unknown variable "size"; available are prompt, duration, resolution, audio, aspect_ratio',
    ],
    ['an unknown variable in a nested value', { a: [{ b: '$size' }] }, 'unknown variable "size"'],
    ['an inherited property of objects', '$constructor', 'unknown variable "constructor"'],
    ['a table by an unknown variable', { $by: 'size', small: 1 }, 'unknown variable "size"'],
    ['a table by an empty name', { $by: '', '720p': 1 }, 'unknown variable ""'],
    ['a table without the row', { $by: 'resolution', '1080p': 1 }, 'the table by resolution has no "720p"'],
    [
      'a table by two without the row',
      { $by: 'resolution audio', '720p true': 1 },
      'the table by resolution and audio has no "720p false"',
    ],
    ['a table entry with an unknown variable', { $by: 'audio', false: '$size' }, 'unknown variable "size"'],
  ];
  for (const [what, template, message] of refused) {
    it(`is rejected for ${what}, with a message that names it`, () => {
      expect(getTemplateError(template)).to.match(new RegExp(`^${message}`));
    });
  }

  it('is rejected for an image if it refers to a param of videos', () => {
    expect(getTemplateError('$duration', IMAGE)).to.equal(
      'unknown variable "duration"; available are prompt, resolution, aspect_ratio',
    );
  });

  it('does not look up inherited properties of objects in a table', () => {
    const order = { ...IMAGE, prompt: 'constructor' };
    expect(getTemplateError({ $by: 'prompt' }, order)).to.equal('the table by prompt has no "constructor"');
  });
});
