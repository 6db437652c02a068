import { spawnSync } from 'node:child_process'
import { cpSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { buildPage } from './build-page.ts'
import { bundleDeclarations } from './declarations.ts'

// Each package becomes one file for each entry point, and a few shared ones: resolving and opening a
// file costs more than running it. Declarations are bundled in the same way, from the output of one
// tsc run for all packages.
const root = fileURLToPath(new URL('..', import.meta.url))
const declarations = join(root, 'node_modules/.cache/declarations')

interface Manifest {
  readonly name: string
  readonly private?: boolean
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>
  readonly imports?: Readonly<Record<string, string | { readonly default: string }>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

/** Files that are loaded by their path, so they cannot be part of another bundle. */
const loadedByPath: Readonly<Record<string, readonly string[]>> = {
  millrace: ['cli/main', 'client/voice-worklet'],
  '@millrace/voice': ['voices/flite/worker', 'onnx/worker'],
}

const groups: Readonly<Record<string, { name: string; test: RegExp }[]>> = {
  millrace: [
    { name: 'protocol', test: /src\/protocol\/(?!voice)/ },
    { name: 'wire', test: /src\/models\/wire\// },
    // Separate from the rest of the client, so that a page loads them only when it uses audio.
    { name: 'browser-audio', test: /src\/client\/browser-/ },
  ],
}

const stem = (path: string) => path.replace(/^\.\/dist\/(.*)\.js$/, '$1')

/** The entry points, by their path below `src`, without the extension. */
function entryPoints({ exports }: Manifest): string[] {
  return Object.values(exports).flatMap((target) =>
    typeof target === 'string' ? [] : [stem(target.default)],
  )
}

async function buildModules(folder: string, manifest: Manifest): Promise<void> {
  const entries = [...entryPoints(manifest), ...(loadedByPath[manifest.name] ?? [])]
  const bundle = await rolldown({
    cwd: folder,
    input: Object.fromEntries(entries.map((entry) => [entry, `src/${entry}.ts`])),
    platform: 'neutral',
    external: (id) => /^(#|[^./])/.test(id),
    // An entry point keeps its 'use client'.
    checks: { moduleLevelDirective: false },
  })
  await bundle.write({
    dir: join(folder, 'dist'),
    sourcemap: true,
    // The package contains the sources.
    sourcemapExcludeSources: true,
    // It loads the worklet from its own folder.
    chunkFileNames: ({ name }) => (name === 'browser-audio' ? 'client/[name].js' : 'shared/[name].js'),
    codeSplitting: { groups: groups[manifest.name] ?? [] },
  })
  await bundle.close()
}

async function buildDeclarations(folder: string, name: string, manifest: Manifest): Promise<void> {
  const written = join(declarations, name, 'src')
  const bundle = await rolldown({
    cwd: folder,
    input: Object.fromEntries(entryPoints(manifest).map((entry) => [entry, join(written, `${entry}.d.ts`)])),
    // Its types are bundled, so that users of the package need not install it.
    external: (id) => /^(#|[^./])/.test(id) && id !== '@standard-schema/spec',
    plugins: [bundleDeclarations()],
  })
  await bundle.write({ dir: join(folder, 'dist'), chunkFileNames: 'shared/[name].d.ts' })
  await bundle.close()
}

function writeDeclarations(): void {
  rmSync(declarations, { recursive: true, force: true })
  const { status } = spawnSync('tsc', ['-p', 'tsconfig.build.json'], { cwd: root, stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}

const packages = readdirSync(join(root, 'packages')).map((name) => {
  const folder = join(root, 'packages', name)
  const manifest: Manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  return { name, folder, manifest }
})
const published = packages.filter(({ manifest }) => !manifest.private)

for (const { folder, manifest } of published) {
  rmSync(join(folder, 'dist'), { recursive: true, force: true })
  await buildModules(folder, manifest)
  for (const file of ['LICENSE', 'CHANGELOG.md']) cpSync(join(root, file), join(folder, file))
}
cpSync(join(root, 'README.md'), join(root, 'packages/millrace/README.md'))
// The page needs the built client, and the declarations need those of the page.
await buildPage(root)
writeDeclarations()
for (const { name, folder, manifest } of published) await buildDeclarations(folder, name, manifest)
