// The VS Code extension: starts `softwarp lsp` for PTX, and `softwarp debug --dap` for the debugger.

import * as vscode from "vscode";
import { LanguageClient, type LanguageClientOptions, type ServerOptions } from "vscode-languageclient/node";

let client: LanguageClient | undefined;

/** The program, as the settings name it. */
function program(): string {
  return vscode.workspace.getConfiguration("softwarp").get<string>("path") || "softwarp";
}

/** What the server is told when it starts. */
function settings(): object {
  const check = vscode.workspace.getConfiguration("softwarp.check");
  return {
    relocatable: check.get<boolean>("relocatable", false),
    strict: check.get<boolean>("strict", false),
    arch: check.get<string>("arch", "") || null,
  };
}

async function start(): Promise<void> {
  const server: ServerOptions = { command: program(), args: ["lsp"] };
  const options: LanguageClientOptions = {
    documentSelector: [{ language: "ptx" }],
    initializationOptions: settings(),
    middleware: {
      // The server runs what is on the disk.
      executeCommand: async (command, args, next) => {
        const [uri] = args as [string | undefined];
        const document = vscode.workspace.textDocuments.find((one) => one.uri.toString() === uri);
        await document?.save();
        return next(command, args);
      },
    },
  };
  client = new LanguageClient("softwarp", "softwarp", server, options);
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    const why = error instanceof Error ? error.message : String(error);
    void vscode.window.showErrorMessage(
      `softwarp: cannot start \`${program()} lsp\`: ${why}. Set \`softwarp.path\` to the program.`,
    );
  }
}

interface Place {
  uri: string;
  range: { start: { line: number; character: number }; end: { line: number; character: number } };
}

/** Shows a place beside the editor that asks. */
async function show(place: Place): Promise<void> {
  const { start, end } = place.range;
  const selection = new vscode.Range(start.line, start.character, end.line, end.character);
  const document = await vscode.workspace.openTextDocument(vscode.Uri.parse(place.uri));
  await vscode.window.showTextDocument(document, { selection, viewColumn: vscode.ViewColumn.Beside });
}

async function goToSource(): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (!editor || !client) return;
  const { line, character } = editor.selection.active;
  const place = await client.sendRequest<Place | null>("softwarp/sourceLine", {
    textDocument: { uri: editor.document.uri.toString() },
    position: { line, character },
  });
  if (place) await show(place);
  else void vscode.window.showInformationMessage("No `.loc` names a source line here, or the file is not there.");
}

async function goToPtx(): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (!editor || !client) return;
  const places = await client.sendRequest<Place[]>("softwarp/ptxLines", {
    textDocument: { uri: editor.document.uri.toString() },
    line: editor.selection.active.line,
  });
  if (places.length === 0) {
    void vscode.window.showInformationMessage("No PTX of the workspace was made from this line.");
    return;
  }
  if (places.length === 1) {
    await show(places[0]);
    return;
  }
  const items = places.map((place) => ({
    label: `${vscode.workspace.asRelativePath(vscode.Uri.parse(place.uri))}:${place.range.start.line + 1}`,
    place,
  }));
  const picked = await vscode.window.showQuickPick(items, { title: "PTX of this line" });
  if (picked) await show(picked.place);
}

async function explain(): Promise<void> {
  const code = await vscode.window.showInputBox({ title: "Code", placeHolder: "E0603" });
  if (!code || !client) return;
  try {
    const content = await client.sendRequest<string>("softwarp/explain", { code: code.trim().toUpperCase() });
    const document = await vscode.workspace.openTextDocument({ language: "markdown", content });
    await vscode.window.showTextDocument(document);
  } catch (error) {
    void vscode.window.showErrorMessage(error instanceof Error ? error.message : String(error));
  }
}

/** Starts the debugger for the file at hand where there is no configuration. */
class Configurations implements vscode.DebugConfigurationProvider {
  resolveDebugConfiguration(
    _folder: vscode.WorkspaceFolder | undefined,
    configuration: vscode.DebugConfiguration,
  ): vscode.DebugConfiguration {
    if (configuration.type) return configuration;
    const file = vscode.window.activeTextEditor?.document.fileName;
    return { type: "softwarp", request: "launch", name: "kernel", program: file, stopOnEntry: true };
  }
}

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const restart = async (): Promise<void> => {
    await client?.stop();
    client = undefined;
    await start();
  };
  context.subscriptions.push(
    vscode.commands.registerCommand("softwarp.goToSource", goToSource),
    vscode.commands.registerCommand("softwarp.goToPtx", goToPtx),
    vscode.commands.registerCommand("softwarp.explain", explain),
    vscode.commands.registerCommand("softwarp.restart", restart),
    vscode.commands.registerCommand("softwarp.showSource", show),
    vscode.debug.registerDebugConfigurationProvider("softwarp", new Configurations()),
    vscode.debug.registerDebugAdapterDescriptorFactory("softwarp", {
      createDebugAdapterDescriptor: () => new vscode.DebugAdapterExecutable(program(), ["debug", "--dap"]),
    }),
    vscode.workspace.onDidChangeConfiguration(async (event) => {
      if (event.affectsConfiguration("softwarp")) await restart();
    }),
  );
  await start();
}

export async function deactivate(): Promise<void> {
  await client?.stop();
}
