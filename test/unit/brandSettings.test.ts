import { expect } from 'chai';
import { getContrast, parseBrandColors } from '../../shared/lib/brandSettings.ts';
import { parseConfig } from '../../shared/lib/config.ts';
import { getConfigError, GOOD } from '../harness/configErrors.ts';

const LIGHT_BACKGROUND = '#f7f7f8';
const DARK_BACKGROUND = '#17191e';

describe('the settings of the brand', () => {
  it('compute contrasts as WCAG defines them', () => {
    expect(getContrast('#000000', '#ffffff')).to.be.closeTo(21, 0.001);
    expect(getContrast('#777777', '#ffffff')).to.be.closeTo(4.48, 0.01);
    expect(getContrast('#1f5f8b', '#1f5f8b')).to.equal(1);
  });

  it('derive readable accents for dark backgrounds and for hovering from any accepted color', () => {
    for (const color of ['#000000', '#1F5F8B', '#7a1f5c', '#0b6b2f', '#8a2b06', '#0000ff']) {
      expect(getConfigError({ BRAND_COLOR: color }), color).to.equal('');
      const { light, lightHover, dark, darkHover } = parseBrandColors(color);
      expect(light).to.equal(color.toLowerCase());
      for (const [accent, background] of [
        [light, LIGHT_BACKGROUND],
        [lightHover, LIGHT_BACKGROUND],
        [light, '#ffffff'],
        [dark, DARK_BACKGROUND],
        [darkHover, DARK_BACKGROUND],
        // Text on a main button in dark colors.
        [dark, '#10202c'],
      ] as const)
        expect(getContrast(accent, background), `${accent} on ${background}`).to.be.at.least(4.5);
    }
  });

  it('accept a color of its own for dark backgrounds', () => {
    expect(parseBrandColors('#1f5f8b, #7FB9E2')).to.include({ light: '#1f5f8b', dark: '#7fb9e2' });
    expect(getConfigError({ BRAND_COLOR: '#1f5f8b,#7fb9e2' })).to.equal('');
  });

  it('stop the start with a sentence if text in a color would not be readable', () => {
    expect(getConfigError({ BRAND_COLOR: '#f0c000' })).to.match(
      /BRAND_COLOR #f0c000 has a contrast of 1\.\d:1 with the light background, and text needs 4\.5:1\. Choose a darker color\./,
    );
    expect(getConfigError({ BRAND_COLOR: '#1f5f8b,#444444' })).to.match(
      /BRAND_COLOR #444444 has a contrast of 1\.\d:1 with the dark background.+Choose a lighter color\./,
    );
  });

  it('reject what is not a color, a name or an address', () => {
    for (const BRAND_COLOR of ['blue', '#fff', '#1f5f8', '#1f5f8b;', '#1f5f8b,#7fb9e2,#000000'])
      expect(getConfigError({ BRAND_COLOR }), BRAND_COLOR).to.include('BRAND_COLOR must be a color such as #1f5f8b');
    for (const BRAND_NAME of ['x'.repeat(41), '<b>', 'a\nb'])
      expect(getConfigError({ BRAND_NAME }), BRAND_NAME).to.include('BRAND_NAME must be a name of 1 to 40 characters');
    expect(getConfigError({ BRAND_LOGO_URL: 'logo.svg' })).to.include('BRAND_LOGO_URL must be');
    expect(getConfigError({ BRAND_LOGO_URL: 'https://[' })).to.include('BRAND_LOGO_URL must be an address');
    const production = { NODE_ENV: 'production', BRAND_LOGO_URL: 'http://example.com/logo.png' };
    expect(getConfigError(production)).to.include('BRAND_LOGO_URL must begin with https://');
  });

  it('default to the name, logo and colors of the service', () => {
    const { BRAND_NAME, BRAND_LOGO_URL, BRAND_COLOR } = parseConfig(GOOD);
    expect([BRAND_NAME, BRAND_LOGO_URL, BRAND_COLOR]).to.deep.equal(['genmeter', undefined, undefined]);
  });
});
