import { spawn } from 'node:child_process'

// Everything that is checked without running a test. Commands of one phase run in parallel; each prints its output when it is done.
const phases = [
  ['biome check --error-on-warnings .', 'npm run --silent build'],
  [
    'tsc && tsc -p packages/inspector',
    'knip && node scripts/check-packages.ts && node scripts/api.ts --check',
  ],
]

for (const lines of phases)
  if ((await Promise.all(lines.map(succeeds))).includes(false)) {
    process.exitCode = 1
    break
  }

function succeeds(line: string): Promise<boolean> {
  const child = spawn(line, { shell: true, stdio: ['ignore', 'pipe', 'pipe'] })
  const said: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => said.push(chunk))
  return new Promise((resolve) =>
    child.on('close', (code) => {
      process.stdout.write(Buffer.concat(said))
      resolve(code === 0)
    }),
  )
}
