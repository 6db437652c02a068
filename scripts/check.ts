import { spawn } from 'node:child_process'

// All checks except tests. The commands of a phase run in parallel; each prints its output at its end.
const phases = [
  ['biome check --error-on-warnings .', 'node scripts/check-words.ts', 'npm run --silent build'],
  [
    'tsc && tsc -p packages/inspector && tsc -p docs',
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
  const output: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => output.push(chunk))
  return new Promise((resolve) =>
    child.on('close', (code) => {
      process.stdout.write(Buffer.concat(output))
      resolve(code === 0)
    }),
  )
}
