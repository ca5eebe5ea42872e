const { readFileSync } = require('node:fs');
const Module = require('node:module');
const path = require('node:path');
const { Script } = require('node:vm');

/**
 * Runs a program from its bundle and V8 code cache, which lie beside this file. Parsing the text would take half of the
 * time and a third of the memory of a start. Without a cache, or with one of another Node or other flags of V8, which
 * V8 rejects, it is parsed.
 * @param onCompiled receives the script before it runs.
 */
module.exports = (name, onCompiled) => {
  const filename = path.join(__dirname, `${name}.js`);
  // The bundle is ASCII. Read as UTF-8, it would be checked for other characters.
  const source = Module.wrap(readFileSync(filename, 'latin1'));
  const script = new Script(source, { filename, cachedData: readIfThere(`${filename}.cache`) });
  onCompiled?.(script);
  const bundle = new Module(filename);
  bundle.filename = filename;
  script.runInThisContext()(bundle.exports, Module.createRequire(filename), bundle, filename, __dirname);
};

function readIfThere(file) {
  try {
    return readFileSync(file);
  } catch {
    return undefined;
  }
}
