import { chmodSync, readFileSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { buildPage } from './build-page.ts'

// One file for each door and few for what they share: to resolve and open a file costs more than to run what is in it, and
// the sources are about a hundred. The types are written by tsc, which needs those of the page.
const root = new URL('..', import.meta.url)
const dist = new URL('dist', root)
const manifest = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'))

const doors = [
  ...Object.values<string | { default: string }>(manifest.exports),
  { default: manifest.bin.millrace },
  // A thread runs a file of its own.
  { default: manifest.imports['#flite-worker'] },
  { default: manifest.imports['#onnx-worker'] },
  { default: './dist/client/voice-worklet.js' },
]
  .flatMap((target) => (typeof target === 'string' ? [] : [target.default]))
  .map((path) => path.replace(/^\.\/dist\/(.*)\.js$/, '$1'))

// What is installed beside it, whichever part of it is asked for.
const packages = [manifest.dependencies, manifest.optionalDependencies, manifest.peerDependencies].flatMap(
  Object.keys,
)

rmSync(dist, { recursive: true, force: true })
const bundle = await rolldown({
  cwd: fileURLToPath(root),
  input: Object.fromEntries(doors.map((door) => [door, `src/${door}.ts`])),
  platform: 'neutral',
  // Only whoever is asked for the page loads it.
  external: [/^node:/, '#page', ...packages.map((name) => new RegExp(`^${name}($|/)`))],
})
await bundle.write({
  dir: fileURLToPath(dist),
  // It looks for the worklet beside itself.
  chunkFileNames: ({ name }) => (name === 'browser-audio' ? 'client/[name].js' : 'shared/[name].js'),
  codeSplitting: {
    groups: [
      { name: 'protocol', test: /src\/protocol\/(?!voice)/ },
      { name: 'wire', test: /src\/models\/wire\// },
      // Apart from the rest of the client, so that a page which speaks now and then loads them only then.
      { name: 'browser-audio', test: /src\/client\/browser-/ },
    ],
  },
})
await bundle.close()
// npm links it once, and sees to this only then.
chmodSync(new URL(manifest.bin.millrace, root), 0o755)
await buildPage(root)
