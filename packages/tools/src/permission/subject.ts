import { posix } from 'node:path'
import type { Access } from 'millrace'
import { foldName } from './command-pattern.ts'
import { canonicalHost } from './host-pattern.ts'
import type { Place } from './path-pattern.ts'
import { foldPath, placeOf } from './path-pattern.ts'
import { whyProtected } from './protected.ts'

/** One access as rules look at it, made ready once for all of them. Without an access it is the call as a whole. */
export interface Subject {
  readonly access: Access | undefined
  /** What it comes to cannot be told from its text: a pattern may forbid it, but never allow it. */
  readonly unclear: boolean
  /** It comes with a command, of which rules with the name of a tool, and those that allow, speak already. */
  readonly implied: boolean
  /** Itself, and the same in other words; each also as a file system sees it that does not mind case. */
  readonly commands: readonly string[]
  /** What a rule may name in full to allow it: itself, or the line it stands in. */
  readonly exact: readonly string[]
  /** The beginning that a rule with a `*` has to name, if what it comes to cannot be told. */
  readonly form: string | undefined
  readonly places: readonly Place[]
  readonly host: string | undefined
  /** The name in a path that is written by which another program would run something. */
  readonly guarded: string | undefined
  /** Of the tool, if it is the call as a whole. */
  readonly fingerprint: string | undefined
}

const nothing = {
  commands: [],
  exact: [],
  form: undefined,
  places: [],
  host: undefined,
  implied: false,
  fingerprint: undefined,
  guarded: undefined,
}

/** A call whose tool does not say what it touches, or that touches nothing. */
export function wholeCall({ unclear, fingerprint }: Pick<Subject, 'unclear' | 'fingerprint'>): Subject {
  return { ...nothing, access: undefined, unclear, fingerprint }
}

export function subjectOf(access: Access): Subject {
  switch (access.kind) {
    case 'run': {
      const commands = [access.command, ...(access.also ?? [])]
      return {
        ...nothing,
        access,
        unclear: access.opaque === true,
        commands: [...commands, ...commands.map(foldName)],
        // In another folder the same line is another.
        exact: access.line !== undefined ? [access.line] : access.varies ? [] : [access.command],
        form: access.form,
      }
    }
    case 'fetch': {
      const host = canonicalHost(access.host)
      return { ...nothing, access, unclear: host === undefined, host }
    }
    default: {
      const path = posix.normalize(access.path)
      // In the sandbox they cannot be written anyway.
      const isGuarded = access.kind === 'write' && !access.contained
      return {
        ...nothing,
        access,
        implied: access.implied === true,
        // A tool that hands on what a model wrote may name the same file in many ways.
        unclear: access.opaque === true || access.path.split('/').includes('..'),
        places: [placeOf(path), placeOf(foldPath(path))],
        guarded: isGuarded
          ? foldPath(path)
              .split('/')
              .find((name) => whyProtected(name))
          : undefined,
      }
    }
  }
}
