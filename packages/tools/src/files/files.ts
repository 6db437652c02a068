import { accessSync, constants } from 'node:fs'
import { isAbsolute } from 'node:path'
import type { Toolbox } from 'millrace'
import {
  checkOptions,
  invalidInput,
  isObject,
  kindOf,
  type OptionTable,
  type Problem,
  someText,
  wholeNumber,
  yesOrNo,
} from 'millrace/internal'
import { editFileTool } from './edit-file.ts'
import { findFilesTool } from './find-files.ts'
import { ignoreFilter } from './ignore.ts'
import { listFilesTool } from './list-files.ts'
import { readFileTool } from './read-file.ts'
import { findRipgrep } from './ripgrep.ts'
import { searchFilesTool } from './search-files.ts'
import type { SearchSettings } from './search-settings.ts'
import { openWorkspace, type Workspace } from './workspace.ts'
import { writeFileTool } from './write-file.ts'

export interface FilesOptions {
  /** The folder that the tools are confined to. It must exist. */
  readonly workspace: string
  /** Leaves out the tools that write. */
  readonly readOnly?: boolean | undefined
  /** How much text one `read_file` call returns; 256 KiB by default. */
  readonly maxReadBytes?: number | undefined
  /** The largest image that is shown; 5 MiB by default. */
  readonly maxImageBytes?: number | undefined
  /** How many names or lines a listing or search returns; 200 by default. */
  readonly maxResults?: number | undefined
  /**
   * Globs that listings and searches skip, in addition to `.git` and `node_modules`. A glob without `/`
   * matches names in any folder. Skipped files can still be read by path.
   */
  readonly ignore?: readonly string[] | undefined
  /**
   * Path of ripgrep, or `false` not to use it. By default the first `rg` in PATH outside the
   * workspace.
   */
  readonly ripgrep?: string | false | undefined
}

/** Tools to read, write, edit, list, find and search files, confined to one folder. */
export function files(options: FilesOptions): Toolbox {
  const op = 'files'
  if (!isObject(options as unknown))
    throw invalidInput(op, `files() takes one object of options, not ${kindOf(options)}`)
  checkOptions(options, table, { op, what: 'files(): the option' })
  if (options.workspace === undefined)
    throw invalidInput(op, 'files() needs a workspace: the folder that the tools are confined to')
  return fileTools(openWorkspace(options.workspace), options)
}

/** The tools for an open workspace. */
export function fileTools(
  workspace: Workspace,
  {
    readOnly = false,
    maxReadBytes = 256 * 1024,
    maxImageBytes = 5 * 2 ** 20,
    maxResults = 200,
    ignore = [],
    ripgrep = findRipgrep(workspace.root) ?? false,
  }: Omit<FilesOptions, 'workspace'>,
): Toolbox {
  const settings: SearchSettings = {
    workspace,
    maxResults,
    ignore,
    ignored: ignoreFilter(ignore),
    ripgrep: ripgrep || undefined,
  }
  return {
    tools: [
      readFileTool(workspace, { maxReadBytes, maxImageBytes }),
      ...(readOnly ? [] : [writeFileTool(workspace), editFileTool(workspace)]),
      listFilesTool(settings),
      findFilesTool(settings),
      searchFilesTool(settings),
    ],
  }
}

const table: OptionTable<FilesOptions> = {
  workspace: someText,
  readOnly: yesOrNo,
  maxReadBytes: wholeNumber(1),
  maxImageBytes: wholeNumber(1),
  maxResults: wholeNumber(1),
  ignore: (value) =>
    !(Array.isArray(value) && value.every((glob) => typeof glob === 'string' && glob !== '')) &&
    'must be an array of globs',
  ripgrep: (value) => value !== false && programProblem(value),
}

function programProblem(value: unknown): Problem {
  if (typeof value !== 'string' || !isAbsolute(value)) return 'must be the absolute path of rg, or false'
  try {
    accessSync(value, constants.X_OK)
    return undefined
  } catch {
    return 'must be the path of an executable program'
  }
}
