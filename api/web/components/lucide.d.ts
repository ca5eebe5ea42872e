/** The package declares the types of its index only, whose import would load all of its 1,900 icons. */
declare module 'lucide-static/dist/esm/icons/*.mjs' {
  const svg: string;
  export default svg;
}
