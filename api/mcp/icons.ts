/** SVG paths on a 24 x 24 grid. Inlined as short data URIs, because clients load them with every list of tools. */
const ICON_PATHS = {
  service: 'M4 18a8 8 0 1 1 16 0M12 18l4-6',
  image: 'M4 5h16v14H4zM4 16l5-5 4 4 3-3 4 4M14 9h2',
  video: 'M4 6h11v12H4zM15 10l5-3v10l-5-3z',
  generation: 'M12 7v5l3 2M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z',
  library: 'M4 4h7v7H4zM13 4h7v7h-7zM4 13h7v7H4zM13 13h7v7h-7z',
  usage: 'M5 20v-6M10 20V4M15 20v-9M20 20v-4',
} as const;

export type IconName = keyof typeof ICON_PATHS;

export function buildIcon(icon: IconName) {
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><path fill="none" stroke="#4b6bfb" stroke-width="2" d="${ICON_PATHS[icon]}"/></svg>`;
  return { src: `data:image/svg+xml;base64,${Buffer.from(svg).toString('base64')}` };
}
